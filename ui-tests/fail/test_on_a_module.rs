#[kubewright_testkit::test]
mod it_works {}

fn main() {}
