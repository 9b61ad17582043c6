use kubewright_testkit::TestCluster;

#[kubewright_testkit::test]
async unsafe fn it_works(cluster: TestCluster) {
    drop(cluster);
}

fn main() {}
