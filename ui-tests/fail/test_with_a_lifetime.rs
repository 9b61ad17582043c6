use kubewright_testkit::TestCluster;

#[kubewright_testkit::test]
async fn it_works<'a>(cluster: TestCluster) {
    drop(cluster);
}

fn main() {}
