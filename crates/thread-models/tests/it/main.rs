//! The models, each in every order of its threads; and bugs that the models must find.

use thread_models::{lookups, loops};

#[test]
fn every_call_of_a_thread_arrives() {
    loops::every_call_arrives();
}

/// With three interruptions, most bugs of this kind show up.
#[test]
fn a_wake_up_shows_what_was_written_before() {
    loops::a_wake_up_shows_what_was_written_before(Some(3));
}

#[test]
#[ignore = "takes a quarter of a minute"]
fn a_wake_up_shows_what_was_written_before_in_every_order() {
    loops::a_wake_up_shows_what_was_written_before(None);
}

#[test]
fn a_closed_queue_keeps_nothing() {
    loops::a_closed_queue_keeps_nothing();
}

#[test]
fn a_value_and_a_waker_meet_under_one_lock() {
    loops::a_value_and_a_waker(true);
}

/// The bug of the lab `lost-wakeup`.
#[test]
#[should_panic(expected = "deadlock")]
fn a_waker_that_is_stored_after_the_check_is_found() {
    loops::a_value_and_a_waker(false);
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_promise_to_sleep_after_the_look_is_found() {
    loops::a_look_and_a_promise_apart();
}

#[test]
fn every_lookup_is_answered() {
    lookups::every_lookup_is_answered();
}

#[test]
fn a_cancelled_lookup_is_not_answered() {
    lookups::a_cancelled_lookup_is_not_answered();
}
