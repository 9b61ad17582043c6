use kubewright_testkit::TestCluster;

#[kubewright_testkit::test]
async fn it_works(cluster: TestCluster) -> kubewright::Result<TestCluster> {
    Ok(cluster)
}

fn main() {}
