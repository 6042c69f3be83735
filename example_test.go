package atenia_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"atenia"
	"atenia/place"
)

// Three lines continue a text. The zero [atenia.Options] are greedy, so the
// story is always the same.
func Example() {
	ctx := context.Background()
	m, err := atenia.Open(ctx, "", nil) // "" = the embedded model
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	for t, err := range m.Generate(ctx, atenia.Prompt{Text: "Once upon a time", Options: atenia.Options{MaxTokens: 12}}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(t.Text)
	}
	// Output:
	// , there was a curious little goat named Sam. He lived
}

// A conversation goes through the model's own chat template.
func ExampleModel_Chat() {
	ctx := context.Background()
	m, err := atenia.Open(ctx, "", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	talk := atenia.Conversation{Messages: []atenia.Message{{Role: "user", Content: "Hello!"}}}
	for t, err := range m.Chat(ctx, talk) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(t.Text)
		if t.Finish != "" {
			fmt.Printf(" [%s]\n", t.Finish)
		}
	}
	// Output:
	// Hello! Would you like to hear a story? [stop]
}

// An answer as a whole, with the tokens that it took.
func ExampleModel_Complete() {
	ctx := context.Background()
	m, err := atenia.Open(ctx, "", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	a, err := m.Complete(ctx, atenia.Prompt{Text: "Once upon a time", Options: atenia.Options{MaxTokens: 12}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s [%s, %d tokens]\n", a.Text, a.Finish, a.Usage.Answer)
	// Output:
	// , there was a curious little goat named Sam. He lived [length, 12 tokens]
}

// A model that was trained to call tools asks for a function until it knows enough to
// answer. (The embedded one was not, and answers.)
func ExampleModel_Reply() {
	ctx := context.Background()
	m, err := atenia.Open(ctx, "", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	talk := atenia.Conversation{
		Messages: []atenia.Message{{Role: "user", Content: "Hello!"}},
		Tools: []atenia.Tool{{
			Name:        "get_weather",
			Description: "Returns the weather in a city.",
			Parameters:  json.RawMessage(`{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}`),
		}},
	}
	for {
		answer, err := m.Reply(ctx, talk)
		if err != nil {
			log.Fatal(err)
		}
		talk.Messages = append(talk.Messages, answer.Message())
		if len(answer.ToolCalls) == 0 {
			fmt.Println(answer.Text)
			break
		}
		for _, call := range answer.ToolCalls {
			var arguments struct{ City string }
			result := "18 °C"
			if err := json.Unmarshal(call.Arguments, &arguments); err != nil {
				result = err.Error() // the model reads it and may try again
			}
			talk.Messages = append(talk.Messages, atenia.Message{Role: "tool", Content: result, ToolCallID: call.ID, Name: call.Name})
		}
	}
	// Output:
	// Hello! Would you like to hear a story?
}

// Sampling with a seed gives the same answer every time, too. A stop string is
// not part of the answer.
func ExampleModel_Generate() {
	ctx := context.Background()
	m, err := atenia.Open(ctx, "", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	p := atenia.Prompt{Text: "Once upon a time", Options: atenia.Options{
		Sampling: atenia.Sampling{Temperature: 0.8, TopP: 0.95, Seed: 7},
		Stop:     []string{"."},
	}}
	for t, err := range m.Generate(ctx, p) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(t.Text)
	}
	// Output:
	// , a cheerful rabbit named Leo lived in the forest
}

// Tokens are ids of the model's vocabulary.
func ExampleModel_Tokenize() {
	m, err := atenia.Open(context.Background(), "", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	ids, err := m.Tokenize("Once upon a time")
	if err != nil {
		log.Fatal(err)
	}
	text, err := m.Detokenize(ids)
	fmt.Println(ids, text, err)
	// Output:
	// [427 456 262 395] Once upon a time <nil>
}

// Logits say what the model thinks of every token of its vocabulary; here, the
// one it would choose after a text.
func ExampleModel_Logits() {
	ctx := context.Background()
	m, err := atenia.Open(ctx, "", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	ids, err := m.Tokenize("Once upon a")
	if err != nil {
		log.Fatal(err)
	}
	rows, err := m.Logits(ctx, ids, atenia.LogitsOptions{})
	if err != nil {
		log.Fatal(err)
	}
	best := 0
	for id, logit := range rows[0] {
		if logit > rows[0][best] {
			best = id
		}
	}
	next, _ := m.Detokenize([]int32{int32(best)})
	fmt.Printf("%d logits, %q is the most likely\n", len(rows[0]), next)
	// Output:
	// 2048 logits, " time" is the most likely
}

// The plan of a model is compiled from its header alone.
func ExampleOpenPlan() {
	p, err := atenia.OpenPlan("", nil)
	if err != nil {
		log.Fatal(err)
	}
	fixed, perToken := p.StateBytes()
	_, decode := p.Instructions()
	fmt.Printf("%s, %d instructions to decode a token, state %d + %d bytes a token\n",
		p.Family, decode, fixed, perToken)
	// Output:
	// llama, 19 instructions to decode a token, state 0 + 4096 bytes a token
}

// Inspect says what is in a file, whether or not the model can run.
func ExampleInspect() {
	f, err := atenia.Inspect("")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s, %d tensors, %d parameters\n", f.Format, len(f.Tensors), f.Totals.Parameters)
	fmt.Println(f.Tensors[0].Name, f.Tensors[0].DType, f.Tensors[0].Shape)
	// Output:
	// gguf, 39 tensors, 1377408 parameters
	// token_embd.weight BF16 [2048, 128]
}

// A placement shows what a budget means before the model is opened. A budget that
// is too small is an error that knows which one would do.
func ExamplePlan_Place() {
	cfg := &atenia.Config{Context: 256, Placement: place.Rules{
		Rates: place.Rates{SSD: 1e9, RAM: 10e9, FLOPS: 1e12}, // else they are measured or assumed
	}}
	cfg.Budget.RAM = 1 << 20
	p, err := atenia.OpenPlan("", cfg)
	if err != nil {
		log.Fatal(err)
	}
	_, err = p.Place()
	floor, ok := errors.AsType[*place.FloorError](err)
	if !ok {
		log.Fatal(err)
	}
	fmt.Println(floor.Floor > cfg.Budget.RAM)

	cfg.Budget.RAM = 1 << 30
	if p, err = atenia.OpenPlan("", cfg); err != nil {
		log.Fatal(err)
	}
	pl, err := p.Place()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(pl.Spills(), pl.Decode.Limit, pl.Tensors[0].Tier)
	// Output:
	// true
	// false ram Ram
}

// The machine, and what its owner should know before a model is opened.
func ExampleHardware() {
	m, err := atenia.Hardware(context.Background(), "", "")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Cores > 0, m.AvailableBytes <= m.MemoryBytes, m.Storage == nil)
	// Output: true true true
}

// Nothing has been learned where no run was observed.
func ExampleExplain() {
	e, err := atenia.Explain("testdata/none.jsonl", place.Bucket{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.File.Status, e.Buckets[0].Learned)
	// Output: Missing false
}

// Settings that come from a user are checked before a request is made of them.
func ExampleSampling_Validate() {
	s := atenia.Sampling{Temperature: 0.7, TopP: 1.5}
	if e, ok := errors.AsType[*atenia.ConfigError](s.Validate()); ok {
		fmt.Println(e.Field, e.Got)
	}
	// Output: TopP 1.5
}
