// Mutate-files damages files of every format that Atenia reads and uses them as
// a command would, with a budget of time and memory for each:
//
//	go run -C tools ./mutate-files -for 1h                          # a campaign
//	go run -C tools ./mutate-files -seed 7 -cases 1000000 -from 0
//	go run -C tools ./mutate-files -seed 7 -index 123456 -write DIR  # the files of one case
//	go run -C tools ./mutate-files -seed 7 -index 123456             # one case again, with what it took
//	go run -C tools -race ./mutate-files -readers 8 -for 10m         # eight at once in one process
//
// A case is determined by its seed and its index. It begins with good files of
// one format, mostly from testdata/golden, and changes their structure: lengths
// and offsets to values at a boundary, types, order and number of elements,
// values of JSON, parts of two files joined, and single bits. Where a format has
// checksums they are made again afterwards, so that the change is not found by
// them alone.
//
//	case.go      samples, cases, the random choices
//	json.go      changes of JSON trees
//	text.go      changes of texts: TOML, templates, plans, lines of JSON
//	gguf.go      changes of GGUF headers, splitting
//	container.go safetensors, PNG, RIFF, protocol buffers
//	sums.go      formats with checksums: sxlm, snapshots of training
//	formats.go   the formats: samples, kinds of change, and how they are read
//	conversation.go what the embedded model remembers of an answer
//	readers.go   how each format is read
//	measure.go   one case under its budget
//	pool.go      the processes that run cases, and what ended them
//
// Cases run in child processes one after the other: a panic of any goroutine, or
// 30 s without an end, is a finding with the index. So is a case that takes more
// than 5 s, or more live memory than twice its input and 64 MiB (256 MiB for
// templates). What a case allocates in all bounds what was alive; only if that
// is above the limit the case runs once more, with its memory sampled.
package main
