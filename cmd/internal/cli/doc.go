// Package cli is the command line: one file a command. A command takes its
// arguments apart, calls recipe, sweep and summary, and hands what they return
// to package view. Only this package and main know flags, signals, the
// environment and exit codes. stdout carries the result, stderr the rest.
package cli
