// Package train trains models by a recipe: from nothing, on from a folder, or low-rank
// pairs beside weights that stay as they are.
//
//	r, err := train.ReadRecipe("recipe.toml")   // or a Recipe that is made in Go, and completed
//	rep, err := train.Run(ctx, r, train.Options{Watch: func(e train.Event) { fmt.Println(e.Step, e.Loss) }})
//	m, err := atenia.Open(ctx, rep.Out, nil)     // the folder of a model, or an adapter for one
//
// A recipe names a model, data, an optimizer and a schedule; [Keys] lists what its file may
// say. The same recipe gives the same bytes, whatever the number of threads, the memory
// ([Loop].Budget) and however often the run was stopped or killed and resumed.
//
//	ReadRecipe ──▶ Recipe ──▶ Run ──▶ Report and a folder
//	                           ├─▶ Subject, before the first step
//	                           └─▶ Event, after each
//
// The command is "atenia train"; docs/training.md is the guide.
package train
