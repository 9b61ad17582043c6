struct Operator;

impl Operator {
    #[kubewright_testkit::test]
    async fn an_app_gets_its_deployment(&self) {}
}

fn main() {
    let _ = Operator;
}
