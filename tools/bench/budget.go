package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"atenia/internal/machine/cpu"
	"atenia/internal/store/durable"
	"atenia/train"
)

// A budgetConfig configures [runBudget].
type budgetConfig struct {
	config
	RAM int64 // of the process, in bytes
	// Dir is the folder in which a folder for the run is created and removed; "" =
	// that of temporary files, which is in memory on some systems.
	Dir string
	// Whole repeats the run without a budget and compares the results.
	Whole bool
}

// A budgetReport holds the times of a step in a budget, in seconds.
type budgetReport struct {
	Size                              string
	Parameters, Rows, Length, Threads int
	RAM                               int64
	Memory                            string  // what is in memory
	Step, Compute                     float64 // medians; Compute is that of losses and gradients
	Moved                             int64   // bytes of files in a step
	Disk                              float64 // bytes a second that the disk takes
	Ratio                             float64 // Step / max(Compute, Moved / Disk)
	PeakBytes                         int64   // peak resident set; 0 = unknown
	Loss                              float64
	InMemory                          float64 // step of the run without a budget; 0 = it was not made
	Equal                             bool    // both runs gave the same model
}

// runBudget trains a Llama model of bytes, with bfloat16 parameters, in a budget.
func runBudget(ctx context.Context, cfg budgetConfig) (r *budgetReport, err error) {
	s, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	dir, remove, err := durable.TempDir(cfg.Dir, "atenia-bench-train-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	text := filepath.Join(dir, "text.txt")
	var b bytes.Buffer
	for i := range 2 * cfg.Rows * cfg.Length {
		fmt.Fprintf(&b, "%d ", i*i%9973)
	}
	if err := os.WriteFile(text, b.Bytes(), 0o600); err != nil {
		return nil, err
	}
	rec := &train.Recipe{
		Model: train.Model{Hidden: s.Hidden, Layers: s.Layers, Heads: s.Heads, KVHeads: s.KVHeads, FFN: s.FFN},
		Data:  train.Data{Files: []string{text}, Row: cfg.Length, Rows: cfg.Rows},
		Train: train.Loop{Steps: cfg.Steps + 1, Precision: "bf16", Recompute: cfg.Recompute, Threads: cfg.Threads, SaveEvery: cfg.Steps + 1,
			Out: filepath.Join(dir, "budget"), Budget: fmt.Sprint(cfg.RAM)},
	}
	r = &budgetReport{Size: cfg.Size, Rows: cfg.Rows, Length: cfg.Length, Threads: cfg.Threads, RAM: cfg.RAM}
	if r.Disk, err = writeRate(dir); err != nil {
		return nil, err
	}
	var whole, compute []float64
	r.Step, err = r.train(ctx, rec, func(e train.Event) {
		compute = append(compute, e.Seconds-e.Waited)
		r.Moved, r.Loss = e.Moved, e.Loss
	})
	if err != nil {
		return nil, err
	}
	r.Compute, r.PeakBytes = median(compute[1:]), cpu.PeakResident()
	r.Ratio = r.Step / max(r.Compute, float64(r.Moved)/r.Disk)
	if !cfg.Whole {
		return r, nil
	}
	rec.Train.Budget, rec.Train.Out = "", filepath.Join(dir, "whole")
	line := r.Memory
	if r.InMemory, err = r.train(ctx, rec, func(e train.Event) { whole = append(whole, e.Seconds) }); err != nil {
		return nil, err
	}
	r.Memory = line
	one, err := os.ReadFile(filepath.Join(dir, "budget", "model.safetensors"))
	if err != nil {
		return nil, err
	}
	two, err := os.ReadFile(filepath.Join(dir, "whole", "model.safetensors"))
	r.Equal = bytes.Equal(one, two)
	return r, err
}

// train runs a recipe and returns the median time of its steps but the first.
func (r *budgetReport) train(ctx context.Context, rec *train.Recipe, watch func(train.Event)) (float64, error) {
	if err := rec.Complete(); err != nil {
		return 0, err
	}
	var seconds []float64
	_, err := train.Run(ctx, rec, train.Options{
		Started: func(s train.Subject) { r.Parameters, r.Memory = s.Parameters, s.Memory },
		Watch:   func(e train.Event) { seconds = append(seconds, e.Seconds); watch(e) },
	})
	if err != nil {
		return 0, err
	}
	return median(seconds[1:]), nil
}

// writeRate measures how fast a folder's disk takes bytes.
func writeRate(dir string) (rate float64, err error) {
	const size, part = 256 << 20, 16 << 20
	name := filepath.Join(dir, "rate")
	f, err := os.Create(name)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.Remove(name)) }()
	b := bytes.Repeat([]byte("0123456789abcdef"), part/16)
	began := time.Now()
	for range size / part {
		if _, err := f.Write(b); err != nil {
			return 0, errors.Join(err, f.Close())
		}
	}
	err = errors.Join(f.Sync(), f.Close())
	return size / time.Since(began).Seconds(), err
}
