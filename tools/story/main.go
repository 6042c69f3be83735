// Command story writes the text that the embedded model learns from, one
// document a line as JSON:
//
//	go run -C tools ./story -seed 1 -count 20000 > corpus.jsonl
//	go run -C tools ./story -seed 1 -count 3 -plain
//	go run -C tools ./story -seed 1 -count 5000 -requests >> corpus.jsonl
//
// A line is {"text": …}, a story, or {"messages": […]}, a chat. A document
// depends on the seed and its index alone: -from starts at any index.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"atenia/tools/internal/story"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("story: ")
	seed := flag.Uint64("seed", 1, "which corpus")
	from := flag.Uint64("from", 0, "index of the first document")
	count := flag.Uint64("count", 20, "documents to write")
	requests := flag.Bool("requests", false, "only chats in which something is asked for or to be remembered")
	plain := flag.Bool("plain", false, "for reading: text instead of JSON")
	flag.Parse()
	at := story.At
	if *requests {
		at = story.Asked
	}
	if err := write(os.Stdout, at, *seed, *from, *count, *plain); err != nil {
		log.Fatal(err)
	}
}

// write writes count documents of the corpus.
func write(to io.Writer, at func(seed, index uint64) story.Document, seed, from, count uint64, plain bool) error {
	w := bufio.NewWriter(to)
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	for i := range count {
		d := at(seed, from+i)
		if plain {
			fmt.Fprintf(w, "--- %d\n%s\n", from+i, d)
		} else if err := lines.Encode(d); err != nil {
			return err
		}
	}
	return w.Flush()
}
