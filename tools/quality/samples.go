package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strings"

	"atenia"
	"atenia/tools/internal/story"
)

type options struct {
	samples, show int
	seed          uint64
	temperature   float32
}

// A quality counts the samples that meet each criterion.
type quality struct {
	samples, requests    int
	hero, request, ended int
}

// most is how long a story may grow, in tokens, before it counts as endless.
const most = 500

// begin is the beginning of the stories without a request.
const begin = "Once upon a time"

// sample samples stories and judges them.
func sample(ctx context.Context, w io.Writer, m *atenia.Model, o options) (q quality, err error) {
	shown, faults := 0, 0
	for i := range o.samples {
		how := atenia.Options{MaxTokens: most, Sampling: atenia.Sampling{Temperature: o.temperature, Seed: o.seed + uint64(i)}}
		asked, kind, thing := begin, "", ""
		var answer iter.Seq2[atenia.Token, error]
		if i%2 == 0 {
			answer = m.Generate(ctx, atenia.Prompt{Text: begin, Options: how})
		} else {
			asked, kind, thing = story.Request(i / 2)
			answer = m.Chat(ctx, atenia.Conversation{Messages: []atenia.Message{{Role: "user", Content: asked}}, Options: how})
		}
		text, finish, err := read(answer)
		if err != nil {
			return q, err
		}
		if kind == "" {
			text = begin + text
		}
		q.samples++
		var wrong []string
		if _, err := story.Check(text); err != nil {
			wrong = append(wrong, err.Error())
		} else {
			q.hero++
		}
		if finish != "stop" {
			wrong = append(wrong, "it does not end")
		} else {
			q.ended++
		}
		if kind != "" {
			q.requests++
			if story.Has(text, kind, thing) {
				q.request++
			} else {
				wrong = append(wrong, "it is not about "+kind+" and "+thing)
			}
		}
		if len(wrong) > 0 && faults < o.show {
			faults++
			fmt.Fprintf(w, "--- %d, at fault: %s\n%s\n%s\n\n", i, strings.Join(wrong, "; "), asked, text)
		} else if len(wrong) == 0 && shown < o.show {
			shown++
			fmt.Fprintf(w, "--- %d\n%s\n%s\n\n", i, asked, text)
		}
	}
	return q, nil
}

// read collects an answer.
func read(answer iter.Seq2[atenia.Token, error]) (text, finish string, err error) {
	var b strings.Builder
	for t, err := range answer {
		if err != nil {
			return "", "", err
		}
		b.WriteString(t.Text)
		finish = t.Finish
	}
	return b.String(), finish, nil
}
