package main

// wired returns the verbs of the real program.
func wired() verbs { return verbs{} }
