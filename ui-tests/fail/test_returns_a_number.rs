use kubewright_testkit::TestCluster;

#[kubewright_testkit::test]
async fn it_works(cluster: TestCluster) -> usize {
    cluster.requests().count()
}

fn main() {}
