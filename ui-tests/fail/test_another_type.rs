#[kubewright_testkit::test]
async fn it_works(times: u32) {
    println!("{times}");
}

fn main() {}
