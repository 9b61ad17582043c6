use kubewright_testkit::TestCluster;

#[kubewright_testkit::test]
async fn it_works(cluster: TestCluster, times: u32) {
    drop((cluster, times));
}

fn main() {}
