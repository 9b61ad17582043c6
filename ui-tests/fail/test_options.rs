#[kubewright_testkit::test(
    sed = 7,
    start_paused = true,
    seed = "seven",
    repeat = 0,
    latency = "20ms..1ms",
    now = "2026-02-30T00:00:00Z",
    timeout = 5,
    flavour = "current_thread",
    repeat = 2
)]
async fn an_app_gets_its_deployment() {}

fn main() {}
