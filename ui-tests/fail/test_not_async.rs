use kubewright_testkit::TestCluster;

#[kubewright_testkit::test]
fn it_works(cluster: TestCluster) {
    drop(cluster);
}

fn main() {}
