use kubewright_testkit::TestCluster;

#[kubewright_testkit::test]
async fn it_works(cluster: &TestCluster) {
    println!("{}", cluster.story());
}

fn main() {}
