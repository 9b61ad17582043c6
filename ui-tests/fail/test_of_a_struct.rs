struct Suite;

impl Suite {
    #[kubewright_testkit::test]
    async fn it_works(self) {}
}

fn main() {}
