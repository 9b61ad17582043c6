use kubewright_testkit::TestCluster;

#[kubewright_testkit::test]
async fn an_app_gets_its_deployment(cluster: TestCluster, replicas: u32) {
    let _ = (cluster, replicas);
}

fn main() {}
