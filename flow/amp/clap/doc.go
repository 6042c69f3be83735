package clap
