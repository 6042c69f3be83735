package quila_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/golden/await"
	"atenia/quila"
	"atenia/quila/config"
	"atenia/quila/internal/school"
)

// shortTraining is a training of a few small steps of a long schedule, which therefore
// ends without an evaluation: of a nano, whose short form has few and narrow neurons.
func shortTraining(t *testing.T, stop int) quila.Training {
	t.Helper()
	c, err := config.Profile("nano")
	if err != nil {
		t.Fatal(err)
	}
	if !await.Long() {
		c.D, c.DE, c.D1, c.D2, c.H, c.A, c.N, c.KP, c.G = 16, 16, 4, 4, 8, 4, 4, 4, 8
	}
	c.Training()
	return quila.Training{Config: c, Steps: 1000, StopAt: stop, Batch: 4, Window: 16, Threads: 1}
}

// trainedBits trains, saves and evaluates the file.
func trainedBits(t *testing.T, o quila.Training) float64 {
	t.Helper()
	got, err := o.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.sxlm")
	if err := got.Save(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	e, err := quila.Evaluation{File: path, Text: school.MakeToy(3, 32*30).Text, Threads: 1}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return e.Bits
}

// TestTraining: a run that was interrupted and resumed saves the model of one that
// was not, and training lowers the bits.
func TestTraining(t *testing.T) {
	whole := trainedBits(t, shortTraining(t, 8))
	dir := t.TempDir()
	o := shortTraining(t, 3)
	o.Dir, o.Resume = dir, true
	said := ""
	o.Note = func(s string) { said += s }
	if _, err := o.Run(t.Context()); err != nil || !strings.Contains(said, "there is no checkpoint of nano in "+dir) {
		t.Fatalf("nothing to resume: %v, %q", err, said)
	}
	o.StopAt, o.Resume = 8, true
	other := o
	other.Seed++
	other.Config.CodeBias = !o.Config.CodeBias
	if _, err := other.Run(t.Context()); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("code_bias is %t and was %t, seed is %d and was %d", other.Config.CodeBias, o.Config.CodeBias, other.Seed, o.Seed)) {
		t.Errorf("resumed with another seed and configuration: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	o.Step = func(string, int, int, float64, float64) { stop() } // as Ctrl-C does
	if _, err := o.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	steps := 0
	o.Step = func(_ string, step, _ int, _, _ float64) { steps++ }
	if got := trainedBits(t, o); got != whole || steps != 4 {
		t.Errorf("%v bits after interruptions at steps 3 and 4 and %d steps, %v without", got, steps, whole)
	}
	if first := trainedBits(t, shortTraining(t, 1)); whole > first-.1 {
		t.Errorf("%v bits after a step, %v after eight", first, whole)
	}
	o.StopAt, o.Steps, o.Rate = 9, 900, .001 // which may change
	said = ""
	if _, err := o.Run(t.Context()); err != nil || said != "" {
		t.Errorf("other steps and rate: %v, %q", err, said)
	}
	o = shortTraining(t, 8)
	o.Dir = dir
	if _, err := o.Run(t.Context()); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a folder that has a run: %v", err)
	}
}

// TestBaselineSeed: a model beside the network, too, is resumed with its seed.
func TestBaselineSeed(t *testing.T) {
	o := shortTraining(t, 1)
	o.Only, o.Models, o.Dir = true, []string{"gru320"}, t.TempDir()
	if _, err := o.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.Resume, o.Seed = true, 7
	if _, err := o.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "seed is 7 and was 0") {
		t.Errorf("resumed with another seed: %v", err)
	}
}

// TestTrainingFaults: what cannot be done is an error before anything is trained.
func TestTrainingFaults(t *testing.T) {
	for what, change := range map[string]func(*quila.Training){
		"a model that is not known": func(o *quila.Training) { o.Models = []string{"oracle"} },
		"a batch below zero":        func(o *quila.Training) { o.Batch = -1 },
		"stages with a folder":      func(o *quila.Training) { o.Stages, o.Dir = "b", t.TempDir() },
		"a stage that is not there": func(o *quila.Training) { o.Stages = "d" },
		"more than any machine has": func(o *quila.Training) {
			o.Config.N, o.Config.D, o.Config.D1, o.Config.D2 = 1<<20, 4096, 64, 64
		},
		"a configuration of zeros": func(o *quila.Training) { o.Config = config.Config{} },
	} {
		o := shortTraining(t, 1)
		change(&o)
		if _, err := o.Run(t.Context()); err == nil {
			t.Errorf("%s is no error", what)
		}
	}
	o := shortTraining(t, 1)
	o.Only, o.Models = true, []string{"gru320"}
	got, err := o.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := got.Save(t.Context(), filepath.Join(t.TempDir(), "m.sxlm")); !errors.Is(err, quila.ErrNoNetwork) {
		t.Errorf("saving no network: %v", err)
	}
}

// TestResumeAnother: a run is not begun anew beside the checkpoint of another network.
func TestResumeAnother(t *testing.T) {
	c, err := config.Profile("nano")
	if err != nil {
		t.Fatal(err)
	}
	o := quila.Training{Config: c, Steps: 2, StopAt: 1, Batch: 2, Window: 8, Threads: 1, Dir: t.TempDir()}
	if _, err := o.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.Resume, o.Config.Name = true, ""
	if _, err := o.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "the folder has nano.checkpoint") {
		t.Errorf("another network: %v", err)
	}
	o.Resume, o.Dir = false, t.TempDir()
	if _, err := o.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(o.Dir, "network.checkpoint")); err != nil {
		t.Error(err)
	}
}
