use kubewright_testkit::TestCluster;

#[kubewright_testkit::test]
async fn it_works<T: Default>(cluster: TestCluster) {
    drop((cluster, T::default()));
}

fn main() {}
