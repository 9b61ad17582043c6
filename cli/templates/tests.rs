use super::*;

#[kubewright_testkit::test]
async fn a_{{kind}}_gets_its_config_map(cluster: kubewright_testkit::TestCluster) {
    cluster.run(manager()).await;
    cluster.apply_yaml(include_str!("../sample.yaml")).await;
    let map = cluster.wait_for::<ConfigMap>("world", |map| map.data.is_some()).await;
    assert_eq!(map.data.unwrap_or_default()["text"], "Hello, world!");
}
