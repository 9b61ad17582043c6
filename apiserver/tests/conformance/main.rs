//! Replays conversations that were recorded with a real API server (1.36) against this one, in process.
//!
//! Each file below `cases/`, `plugins/` and `webhooks/` is a list of cases; `README.md` beside this file describes them. Time is paused, so what
//! the recording slept away costs nothing. `expected/<file>.txt` lists the cases that are known to differ: a case
//! that is listed and passes fails the test as much as one that is not listed and differs, so the lists only shrink.
//!
//!     cargo test -p kubewright-apiserver --test conformance -- --nocapture           # figures and differences
//!     CONFORMANCE_ONLY=regex cargo test … -- --nocapture                             # some cases, all differences
//!     CONFORMANCE_UPDATE=1 cargo test -p kubewright-apiserver --test conformance     # writes the lists anew

mod case;
mod client;
mod hooks;
mod json;
mod names;
mod ratchet;
mod replay;
mod reviews;
mod shape;
mod watch;

/// One test per recorded file.
macro_rules! recordings {
    ($($test:ident: $folder:literal / $file:literal $(with $settings:expr)?;)*) => {
        $(
            #[test]
            fn $test() {
                let builder = kubewright_apiserver::ApiServer::builder();
                $(let builder = $settings(builder);)?
                ratchet::check($folder, $file, builder);
            }
        )*

        #[test]
        fn every_recording_is_replayed() {
            ratchet::check_that_all_are_listed(&[$(concat!($folder, "/", $file)),*]);
        }
    };
}

recordings! {
    access_is_decided_as_recorded: "cases" / "access";
    admission_policies_and_webhooks_act_as_recorded: "cases" / "admission";
    apply_answers_as_recorded: "cases" / "apply";
    apply_merges_lists_as_recorded: "cases" / "apply-lists";
    built_in_kinds_are_defaulted_as_recorded: "cases" / "builtins-defaults";
    built_in_kinds_are_validated_as_recorded: "cases" / "builtins-validation";
    cel_rules_judge_as_recorded: "cases" / "cel";
    definitions_act_as_recorded: "cases" / "crd";
    custom_resources_are_validated_as_recorded: "cases" / "crd-validation";
    versions_of_definitions_act_as_recorded: "cases" / "crd-versions";
    create_answers_as_recorded: "cases" / "create";
    delete_answers_as_recorded: "cases" / "delete";
    discovery_answers_as_recorded: "cases" / "discovery";
    dry_run_and_field_validation_answer_as_recorded: "cases" / "dry-run-validation";
    garbage_is_collected_as_recorded: "cases" / "gc";
    list_answers_as_recorded: "cases" / "list";
    managed_fields_are_kept_as_recorded: "cases" / "managed-fields";
    metadata_is_validated_as_recorded: "cases" / "metadata-validation";
    namespaces_act_as_recorded: "cases" / "namespaces";
    negotiation_answers_as_recorded: "cases" / "negotiation";
    patch_answers_as_recorded: "cases" / "patch";
    subresources_answer_as_recorded: "cases" / "subresources";
    update_answers_as_recorded: "cases" / "update";
    watch_answers_as_recorded: "cases" / "watch";
    webhooks_are_asked_and_heeded_as_recorded: "webhooks" / "admission";
    webhooks_convert_as_recorded: "webhooks" / "conversion";
    owner_references_need_permission_as_recorded: "plugins" / "owner-references-permission"
        with |builder: kubewright_apiserver::server::Builder| builder.owner_references_permission(true);
}
