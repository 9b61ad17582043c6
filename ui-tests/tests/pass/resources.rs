//! What kube's derive takes, the framework's takes, without kube in the manifest.

use kubewright::kube::CustomResourceExt;
use kubewright::prelude::*;

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[kube(
    group = "demo.dev",
    version = "v1beta1",
    kind = "Web",
    namespaced,
    status = "WebStatus",
    derive = "PartialEq",
    shortname = "w",
    category = "all",
    printcolumn = r#"{"name":"Size","type":"integer","jsonPath":".spec.size"}"#,
    scale(spec_replicas_path = ".spec.size", status_replicas_path = ".status.size"),
    selectable = ".spec.host",
    validation = "self.spec.size >= 0",
    label("demo.dev/x", "y")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = "self.minSize <= self.size")]
pub(crate) struct WebSpec {
    #[x_kube(validation = ("self != ''", "host must be given"))]
    host: String,
    #[serde(default)]
    size: i32,
    min_size: i32,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
pub(crate) struct WebStatus {
    size: i32,
}

#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[kube(group = "demo.dev", version = "v1", kind = "Choice")]
#[serde(rename_all = "camelCase")]
enum ChoiceSpec {
    One(String),
    #[allow(dead_code, reason = "only the schema of the variant is asked for")]
    Two {
        size: i32,
    },
}

#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[kube(group = "demo.dev", version = "v1", kind = "Flat", no_spec)]
struct FlatBody {
    size: i32,
}

#[controller(for = Web, owns = ConfigMap)]
struct WebController;

impl Reconciler for WebController {
    async fn reconcile(&self, web: Arc<Web>, _: &Context<Self>) -> Result<Action> {
        let _ = (&web.spec.host, web.spec.size, web.spec.min_size);
        Ok(Action::await_change())
    }
}

#[test]
fn kubes_attributes_reach_the_definition() {
    let crd = serde_json(&Web::crd());
    for part in [
        "\"plural\":\"webs\"",
        "\"shortNames\":[\"w\"]",
        "self.minSize <= self.size",
        "host must be given",
    ] {
        assert!(crd.contains(part), "{part} is missing in {crd}");
    }
    assert!(crd.contains("self.spec.size >= 0") && crd.contains(".spec.host") && crd.contains("specReplicasPath"));
}

#[test]
fn enums_and_flat_resources_are_resources() {
    let choice = Choice::new("a", ChoiceSpec::One("x".to_owned()));
    assert!(serde_json(&choice).contains("\"one\":\"x\""));
    let flat = Flat::new("a", FlatBody { size: 3 });
    assert!(serde_json(&flat).ends_with("\"size\":3}"));
}

#[test]
fn a_definition_is_declared_where_the_primary_is_custom() {
    let crd = Declaration::<WebController>::of()
        .declared()
        .crd
        .expect("Web is custom");
    assert_eq!(crd().metadata.name.as_deref(), Some("webs.demo.dev"));
}

fn serde_json<T: Serialize>(value: &T) -> String {
    kubewright::__private::serde_json::to_string(value).expect("a resource is JSON")
}
