//! Services, endpoints and what routes to them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::column::{AGE, Column, NAME, Row, Table};
use super::format::{at_most_three, labels, selector_or_none};

pub(super) const TABLES: &[Table] = &[
    ("", "Service", SERVICE),
    ("", "Endpoints", ENDPOINTS),
    ("discovery.k8s.io", "EndpointSlice", ENDPOINT_SLICE),
    ("networking.k8s.io", "Ingress", INGRESS),
    ("networking.k8s.io", "IngressClass", INGRESS_CLASS),
    ("networking.k8s.io", "NetworkPolicy", NETWORK_POLICY),
    ("networking.k8s.io", "ServiceCIDR", SERVICE_CIDR),
    ("networking.k8s.io", "IPAddress", IP_ADDRESS),
];

const SERVICE: &[Column] = &[
    NAME,
    Column::text(
        "Type",
        "type determines how the Service is exposed. Defaults to ClusterIP. Valid options are ExternalName, ClusterIP, NodePort, and LoadBalancer. \"ClusterIP\" allocates a cluster-internal IP address for load-balancing to endpoints. Endpoints are determined by the selector or if that is not specified, by manual construction of an Endpoints object or EndpointSlice objects. If clusterIP is \"None\", no virtual IP is allocated and the endpoints are published as a set of endpoints rather than a virtual IP. \"NodePort\" builds on ClusterIP and allocates a port on every node which routes to the same endpoints as the clusterIP. \"LoadBalancer\" builds on NodePort and creates an external load-balancer (if supported in the current cloud) which routes to the same endpoints as the clusterIP. \"ExternalName\" aliases this service to the specified externalName. Several other fields do not apply to ExternalName services. More info: https://kubernetes.io/docs/concepts/services-networking/service/#publishing-services-service-types",
        |row| row.text("/spec/type").into(),
    ),
    Column::text(
        "Cluster-IP",
        "clusterIP is the IP address of the service and is usually assigned randomly. If an address is specified manually, is in-range (as per system configuration), and is not in use, it will be allocated to the service; otherwise creation of the service will fail. This field may not be changed through updates unless the type field is also being changed to ExternalName (which requires this field to be blank) or the type field is being changed from ExternalName (in which case this field may optionally be specified, as describe above).  Valid values are \"None\", empty string (\"\"), or a valid IP address. Setting this to \"None\" makes a \"headless service\" (no virtual IP), which is useful when direct endpoint connections are preferred and proxying is not required.  Only applies to types ClusterIP, NodePort, and LoadBalancer. If this field is specified when creating a Service of type ExternalName, creation will fail. This field will be wiped when updating a Service to type ExternalName. More info: https://kubernetes.io/docs/concepts/services-networking/service/#virtual-ips-and-service-proxies",
        |row| match row.list("/spec/clusterIPs").first().and_then(Value::as_str) {
            Some(ip) => ip.into(),
            None => row.text_or("/spec/clusterIP", "<none>").into(),
        },
    ),
    Column::text(
        "External-IP",
        "externalIPs is a list of IP addresses for which nodes in the cluster will also accept traffic for this service.  These IPs are not managed by Kubernetes.  The user is responsible for ensuring that traffic arrives at a node with this IP.  A common example is external load-balancers that are not part of the Kubernetes system.",
        |row| external_ip(row).into(),
    ),
    Column::text(
        "Port(s)",
        "The list of ports that are exposed by this service. More info: https://kubernetes.io/docs/concepts/services-networking/service/#virtual-ips-and-service-proxies",
        |row| ports(row.list("/spec/ports")).into(),
    ),
    AGE,
    Column::text(
        "Selector",
        "Route service traffic to pods with label keys and values matching this selector. If empty or not present, the service is assumed to have an external process managing its endpoints, which Kubernetes will not modify. Only applies to types ClusterIP, NodePort, and LoadBalancer. Ignored if type is ExternalName. More info: https://kubernetes.io/docs/concepts/services-networking/service/",
        |row| labels(row.at("/spec/selector")).into(),
    )
    .wide(),
];

const ENDPOINTS: &[Column] = &[
    NAME,
    Column::text("Endpoints", "The addresses and ports behind the service.", |row| {
        let subsets = row.list("/subsets");
        let addresses: Vec<String> = subsets.iter().flat_map(subset_addresses).collect();
        // Subsets without ready addresses leave the cell empty.
        at_most_three(&addresses, if subsets.is_empty() { "<none>" } else { "" }).into()
    }),
    AGE,
];

const ENDPOINT_SLICE: &[Column] = &[
    NAME,
    Column::text("AddressType", "What kind of addresses the slice holds.", |row| {
        row.text("/addressType").into()
    }),
    Column::text("Ports", "The ports that each endpoint has open.", |row| {
        let shown = |port: &Value| match (port["port"].as_i64(), port["name"].as_str()) {
            (Some(number), _) => number.to_string(),
            (None, Some(name)) => name.to_owned(),
            (None, None) => "*".to_owned(),
        };
        at_most_three(&row.list("/ports").iter().map(shown).collect::<Vec<_>>(), "<unset>").into()
    }),
    Column::text("Endpoints", "The addresses in the slice.", |row| {
        let addresses = row
            .list("/endpoints")
            .iter()
            .filter_map(|e| e["addresses"].as_array())
            .flatten();
        let texts: Vec<String> = addresses.filter_map(Value::as_str).map(ToOwned::to_owned).collect();
        at_most_three(&texts, "<unset>").into()
    }),
    AGE,
];

const INGRESS: &[Column] = &[
    NAME,
    Column::text(
        "Class",
        "The name of the IngressClass resource that should be used for additional configuration",
        |row| row.text_or("/spec/ingressClassName", "<none>").into(),
    ),
    Column::text(
        "Hosts",
        "Hosts that incoming requests are matched against before the ingress rule",
        |row| {
            let rules = row.list("/spec/rules");
            let named = rules
                .iter()
                .filter_map(|rule| rule["host"].as_str())
                .filter(|host| !host.is_empty());
            at_most_three(&named.map(ToOwned::to_owned).collect::<Vec<_>>(), "*").into()
        },
    ),
    Column::text(
        "Address",
        "Address is a list containing ingress points for the load-balancer",
        |row| load_balancer(row).into(),
    ),
    Column::text("Ports", "Ports of TLS configurations that open", |row| {
        if row.list("/spec/tls").is_empty() {
            "80".into()
        } else {
            "80, 443".into()
        }
    }),
    AGE,
];

const INGRESS_CLASS: &[Column] = &[
    NAME,
    Column::text(
        "Controller",
        "Controller that is responsible for handling this class",
        |row| row.text("/spec/controller").into(),
    ),
    Column::text(
        "Parameters",
        "A reference to a resource with additional parameters",
        |row| {
            let parameters = row.at("/spec/parameters");
            let field = |name: &str| parameters[name].as_str().unwrap_or_default();
            match (parameters.is_null(), field("apiGroup")) {
                (true, _) => "<none>".into(),
                (false, "") => format!("{}/{}", field("kind"), field("name")).into(),
                (false, group) => format!("{}.{group}/{}", field("kind"), field("name")).into(),
            }
        },
    ),
    AGE,
];

const NETWORK_POLICY: &[Column] = &[
    NAME,
    Column::text("Pod-Selector", "Which pods the policy is about.", |row| {
        selector_or_none(row.at("/spec/podSelector")).into()
    }),
    AGE,
];

const SERVICE_CIDR: &[Column] = &[
    NAME,
    Column::text(
        "CIDRs",
        "The ranges that addresses of services are taken from.",
        |row| {
            row.list("/spec/cidrs")
                .iter()
                .filter_map(Value::as_str)
                .collect::<Vec<_>>()
                .join(",")
                .into()
        },
    ),
    AGE,
];

const IP_ADDRESS: &[Column] = &[
    NAME,
    Column::text("ParentRef", "What the address belongs to.", |row| {
        let field = |name: &str| row.at("/spec/parentRef")[name].as_str().unwrap_or_default();
        let resource = if field("group").is_empty() {
            field("resource").to_owned()
        } else {
            format!("{}.{}", field("resource"), field("group"))
        };
        let object = [field("namespace"), field("name")]
            .into_iter()
            .filter(|p| !p.is_empty())
            .collect::<Vec<_>>();
        format!("{resource}/{}", object.join("/")).into()
    }),
    AGE,
];

fn external_ip(row: &Row<'_>) -> String {
    let external: Vec<&str> = row.list("/spec/externalIPs").iter().filter_map(Value::as_str).collect();
    match row.text("/spec/type") {
        "ClusterIP" | "NodePort" if external.is_empty() => "<none>".to_owned(),
        "ClusterIP" | "NodePort" => external.join(","),
        "LoadBalancer" => {
            let balancer = load_balancer(row);
            let all = [balancer.as_str()]
                .into_iter()
                .filter(|b| !b.is_empty())
                .chain(external)
                .collect::<Vec<_>>();
            if all.is_empty() {
                "<pending>".to_owned()
            } else {
                all.join(",")
            }
        }
        "ExternalName" => row.text("/spec/externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

fn load_balancer(row: &Row<'_>) -> String {
    let point = |ingress: &Value| {
        let field = |name: &str| ingress[name].as_str().filter(|v| !v.is_empty()).map(ToOwned::to_owned);
        field("ip").or_else(|| field("hostname"))
    };
    let points: BTreeSet<String> = row
        .list("/status/loadBalancer/ingress")
        .iter()
        .filter_map(point)
        .collect();
    points.into_iter().collect::<Vec<_>>().join(",")
}

fn ports(ports: &[Value]) -> String {
    let shown = |port: &Value| {
        let number = port["port"].as_i64().unwrap_or_default();
        let protocol = port["protocol"].as_str().unwrap_or_default();
        match port["nodePort"].as_i64() {
            Some(node) if node > 0 => format!("{number}:{node}/{protocol}"),
            _ => format!("{number}/{protocol}"),
        }
    };
    if ports.is_empty() {
        "<none>".to_owned()
    } else {
        ports.iter().map(shown).collect::<Vec<_>>().join(",")
    }
}

/// The ready addresses of a subset, each with every port.
fn subset_addresses(subset: &Value) -> Vec<String> {
    let addresses = subset["addresses"].as_array().map(Vec::as_slice).unwrap_or_default();
    let ip = |address: &Value| address["ip"].as_str().unwrap_or_default().to_owned();
    match subset["ports"].as_array().map(Vec::as_slice).unwrap_or_default() {
        [] => addresses.iter().map(ip).collect(),
        ports => ports
            .iter()
            .flat_map(|port| {
                addresses
                    .iter()
                    .map(move |address| with_port(&ip(address), &port["port"]))
            })
            .collect(),
    }
}

fn with_port(ip: &str, port: &Value) -> String {
    if ip.contains(':') {
        format!("[{ip}]:{port}")
    } else {
        format!("{ip}:{port}")
    }
}
