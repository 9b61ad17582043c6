#[kubewright_testkit::test]
struct Operator;

fn main() {
    let _ = Operator;
}
