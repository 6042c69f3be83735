package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"atenia/flow"
	"atenia/flow/amp"

	"atenia/flow/graph"
	"atenia/flow/node"
)

const clipPlan = `{"nodes": [
	{"name": "tone", "type": "Input"},
	{"name": "clip", "type": "SoftClip", "supports_v2": true, "params": {"drive": 2}},
	{"name": "out", "type": "Probe"}],
 "edges": [{"source": "tone", "target": "clip"}, {"source": "clip", "target": "out"}]}`

// runClip builds a node in C into a folder of its own, loads it, and runs a plan with it.
func runClip(w io.Writer, source, include string, isolated bool) error {
	dir, err := os.MkdirTemp("", "cnode")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	library := filepath.Join(dir, "softclip.amp.so")
	gcc := exec.Command("gcc", "-std=c99", "-O2", "-fPIC", "-shared", "-ffp-contract=off", "-I", include, "-o", library, source)
	if out, err := gcc.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cfg := amp.CatalogConfig{
		Scan:    amp.ScanConfig{Folders: []string{dir}, Command: []string{self, "node-scan"}, Limit: time.Minute},
		Isolate: amp.ProcessConfig{Command: []string{self, "node-host"}, Timeout: time.Minute},
	}
	if !isolated {
		cfg.Trusted = []string{dir}
	}
	c, err := amp.OpenCatalog(context.Background(), cfg)
	if err != nil {
		return err
	}
	defer c.Close()
	for _, l := range c.Result().Libraries {
		if l.Err != nil {
			return fmt.Errorf("%s: %w", l.Path, l.Err)
		}
	}
	return playClip(w, c)
}

// playClip runs the plan on a tone and prints what comes out, and how the energy of
// the output depends on the drive.
func playClip(w io.Writer, c *amp.Catalog) error {
	p, err := graph.Parse([]byte(clipPlan))
	if err != nil {
		return err
	}
	s, err := flow.New[float64](p, flow.Options{Catalog: append(flow.ShippedTypes(), c.Types()...), Training: true})
	if err != nil {
		return err
	}
	defer s.Close()
	record, err := s.Record(flow.Recording{})
	if err != nil {
		return err
	}
	const frames = 4 * graph.DefaultBlock
	x := node.Tensor[float64]{Data: make([]float64, frames), B: 1, C: 1, N: frames}
	for i := range x.Data {
		x.Data[i] = math.Sin(2 * math.Pi * float64(i) / 64)
	}
	out, err := s.Run(map[string]node.Tensor[float64]{"tone": x}, frames/graph.DefaultBlock)
	if err != nil {
		return err
	}
	y := out["out"]
	for _, l := range c.Running() {
		fmt.Fprintf(w, "%s, in a process of its own: %v\n", filepath.Base(l.Path), l.Isolated)
	}
	fmt.Fprintf(w, "in   %.4f\nout  %.4f\n", x.Data[:8], y.Data[:8])
	energy := 0.0
	for i, v := range y.Data { // its derivative by an output is twice the output
		energy += v * v
		y.Data[i] = 2 * v
	}
	g, err := record.Backward(map[string]node.Tensor[float64]{"out": y}, flow.Sweep{Strict: true})
	if err != nil {
		return err
	}
	for _, d := range g.Params {
		if d.Node == "clip" && d.Name == "drive" {
			fmt.Fprintf(w, "energy %.6f, its derivative by clip.drive %.6f\n", energy, d.Value.Data[0])
		}
	}
	return nil
}
