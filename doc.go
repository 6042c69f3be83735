// Package atenia runs language models inside a Go program: no cgo, no Python,
// nothing to download or start.
//
//	m, err := atenia.Open(ctx, "", nil) // "" = the embedded story model
//	for t, err := range m.Generate(ctx, atenia.Prompt{Text: "Once upon a time"}) {
//		fmt.Print(t.Text)
//	}
//	m.Close()
//
// A model is a GGUF file or a Hugging Face folder. Opening it compiles its
// configuration to a typed plan ([Model.Plan] shows it), maps the weights into
// memory and binds kernels for this processor. One [Model] serves any number
// of goroutines: their requests share batches.
//
//	Open       file or folder → Model          Inspect   what a file holds
//	Generate   text → tokens, as they come     Quantize  any model → GGUF
//	Chat       messages → tokens               Plan      what will run, from the header alone
//	Reply      messages → answer, tool calls   Place     where each tensor lives within a budget
//	Tokenize   text ↔ ids                      Explain   what was decided and learned, Replay
//	Logits     ids → logits                    Hardware  what this machine is
//	Embed      texts → vectors                 Rerank    documents by relevance to a query
//
// Package train makes models, and adapters for them.
//
// Everything here is deterministic: the same model, prompt, sampling and seed
// give the same tokens whatever the number of threads and whatever else runs
// in the same batch.
package atenia
