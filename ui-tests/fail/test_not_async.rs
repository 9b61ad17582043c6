use kubewright_testkit::TestCluster;

#[kubewright_testkit::test]
fn an_app_gets_its_deployment(cluster: TestCluster) {
    let _ = cluster;
}

fn main() {}
