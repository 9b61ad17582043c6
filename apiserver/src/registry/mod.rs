//! What each verb does to an object, for every kind alike.
