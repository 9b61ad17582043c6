//! Which informers serve what will be asked for.

use crate::cache::spec::InformerSpec;

/// What will be asked for. Empty at first: then everything is served by what it names itself.
#[derive(Debug, Default)]
pub(super) struct Plan(Vec<InformerSpec>);

impl Plan {
    pub(super) fn add(&mut self, specs: impl IntoIterator<Item = InformerSpec>) {
        self.0.extend(specs);
    }

    /// The specification that serves this one and all that were planned for the same objects.
    pub(super) fn resolve(&self, spec: &InformerSpec) -> InformerSpec {
        let alike: Vec<&InformerSpec> = self.0.iter().filter(|other| other.same_objects(spec)).collect();
        if alike.is_empty() {
            return spec.clone();
        }
        let mut bodies = alike.iter().chain([&spec]).filter(|other| !other.metadata_only);
        let Some(first) = bodies.next() else {
            return spec.clone();
        };
        let mut strip = first.strip.clone();
        for other in bodies {
            strip.retain(|path| other.strip.contains(path));
        }
        InformerSpec {
            strip,
            ..spec.clone().metadata_only(false)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::StripPath;
    use crate::kind::Kind;

    fn spec(strip: &[&str]) -> InformerSpec {
        let kind = Kind::new("demo.dev", "v1", "App", "apps", true);
        let paths = strip.iter().map(|path| StripPath::parse(path).expect("valid"));
        InformerSpec::all(&kind).strip(paths)
    }

    #[test]
    fn what_one_informer_can_serve_shares_it_and_only_what_all_strip_is_stripped() {
        let mut plan = Plan::default();
        let (one, other) = (spec(&["spec.a", "spec.b"]), spec(&["spec.b", "spec.c"]));
        let metadata = spec(&[]).metadata_only(true);
        let elsewhere = spec(&["spec.x"]).namespace(Some("elsewhere"));
        assert_eq!(plan.resolve(&metadata), metadata);
        plan.add([metadata.clone(), one.clone(), other.clone(), elsewhere.clone()]);
        for asked in [&one, &other] {
            assert_eq!(plan.resolve(asked), spec(&["spec.b"]));
        }
        assert_eq!(plan.resolve(&metadata), spec(&["spec.b"]));
        assert_eq!(plan.resolve(&elsewhere), elsewhere);
        let selected = metadata.labels(Some("a=b".to_owned()));
        assert_eq!(plan.resolve(&selected), selected, "other objects");
    }
}
