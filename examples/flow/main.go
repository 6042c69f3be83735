// Flow is five programs with graphs of signals, each in a file of its own; README.md shows
// what they print.
//
//	go run ./examples/flow effects DIR      # a sound, and the plan of effects for it
//	go run ./examples/flow synth DIR        # a synthesizer, and a song that it plays
//	go run ./examples/flow equaliser        # filters that learn
//	go run ./examples/flow mel [SOUND.wav]  # what a speech model hears
//	go run ./examples/flow cnode            # a node in C, and a gradient through it
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"os"
	"os/signal"
	"strings"

	"atenia/flow/amp"
	"atenia/flow/media"
)

// rate is in frames a second.
const rate = 48000

func main() {
	log.SetFlags(0)
	if err := run(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

// run runs the program of a name.
func run(args []string) error {
	name := ""
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	fs := flag.NewFlagSet(name, flag.ExitOnError)
	switch name {
	case "effects", "synth":
		dir := "."
		if len(args) > 0 {
			dir = args[0]
		}
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		if name == "synth" {
			return writeSynth(dir)
		}
		return writeEffects(dir)
	case "equaliser":
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		_, err := learn(ctx, os.Stdout)
		return err
	case "mel":
		preset := fs.String("preset", "whisper", "features: "+strings.Join(media.MelPresets(), ", "))
		picture := fs.String("png", "", "write a picture to this file")
		_ = fs.Parse(args) // it exits
		return showMel(os.Stdout, *preset, *picture, fs.Arg(0))
	case "cnode":
		isolated := fs.Bool("isolate", false, "run the node in a process of its own")
		folder := fs.String("include", "include", "folder of amp.h")
		source := fs.String("source", "examples/flow/softclip/softclip.c", "the node")
		_ = fs.Parse(args)
		return runClip(os.Stdout, *source, *folder, *isolated)
	case "node-host": // this program is also the process that executes libraries, and inspects them
		return amp.Serve()
	case "node-scan":
		os.Exit(amp.ServeManifest(args[len(args)-1]))
	}
	return errors.New("want effects, synth, equaliser, mel or cnode: see examples/flow/README.md")
}
