use kubewright_testkit::TestCluster;

#[kubewright_testkit::test]
async fn it_works(one: TestCluster, other: TestCluster) {
    drop((one, other));
}

fn main() {}
