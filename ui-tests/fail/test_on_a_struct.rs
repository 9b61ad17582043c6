#[kubewright_testkit::test]
struct ItWorks;

fn main() {}
