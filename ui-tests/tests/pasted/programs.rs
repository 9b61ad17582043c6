// Written by the test in main.rs.
