package cli

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// hoardVar makes a test binary take that many bytes of memory, piece by piece,
// and hold them until its input ends.
const hoardVar = "ATENIA_TEST_HOARD"

func init() {
	n, err := strconv.Atoi(os.Getenv(hoardVar))
	if err != nil {
		return
	}
	const piece = 8 << 20
	var all [][]byte
	for ; n > 0; n -= piece {
		b := make([]byte, piece)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		all = append(all, b)
		time.Sleep(40 * time.Millisecond)
	}
	fmt.Println("taken")
	io.Copy(io.Discard, os.Stdin)
	os.Exit(len(all) >> 30)
}

// wideModel writes a model of about 200 MB whose tokens are quick.
func wideModel(t *testing.T, dir string) string {
	t.Helper()
	const width, inner, layers, vocab = 1024, 4096, 6, 320
	write := func(name string, v any) {
		b, err := json.Marshal(v)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), b, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("config.json", map[string]any{
		"architectures": []string{"LlamaForCausalLM"}, "model_type": "llama", "hidden_act": "silu", "torch_dtype": "bfloat16",
		"hidden_size": width, "intermediate_size": inner, "num_hidden_layers": layers, "num_attention_heads": 16, "num_key_value_heads": 16,
		"vocab_size": vocab, "max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "rope_theta": 1e4, "tie_word_embeddings": false,
	})
	type weight struct {
		name string
		dims []int
	}
	ws := []weight{{"model.embed_tokens.weight", []int{vocab, width}}, {"lm_head.weight", []int{vocab, width}}, {"model.norm.weight", []int{width}}}
	for l := range layers {
		of := fmt.Sprintf("model.layers.%d.", l)
		for _, name := range []string{"q", "k", "v", "o"} {
			ws = append(ws, weight{of + "self_attn." + name + "_proj.weight", []int{width, width}})
		}
		ws = append(ws, weight{of + "mlp.gate_proj.weight", []int{inner, width}}, weight{of + "mlp.up_proj.weight", []int{inner, width}},
			weight{of + "mlp.down_proj.weight", []int{width, inner}}, weight{of + "input_layernorm.weight", []int{width}}, weight{of + "post_attention_layernorm.weight", []int{width}})
	}
	header, total := map[string]any{}, 0
	for _, w := range ws {
		n := 2 * w.dims[0]
		if len(w.dims) > 1 {
			n *= w.dims[1]
		}
		header[w.name] = map[string]any{"dtype": "BF16", "shape": w.dims, "data_offsets": []int{total, total + n}}
		total += n
	}
	h, _ := json.Marshal(header)
	for len(h)%8 != 0 {
		h = append(h, ' ')
	}
	out := append(binary.LittleEndian.AppendUint64(nil, uint64(len(h))), h...)
	out = slices.Grow(out, total)
	rng := rand.New(rand.NewPCG(1, 2))
	for range total / 8 { // bfloat16 between 2^-7 and 2^-5, of either sign
		out = binary.LittleEndian.AppendUint64(out, rng.Uint64()&0x80ff_80ff_80ff_80ff|0x3c00_3c00_3c00_3c00)
	}
	if err := os.WriteFile(filepath.Join(dir, "model.safetensors"), out, 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A neighbour in the control group takes half of the memory while tokens come
// and gives it back: nothing is killed, the logits have the same bits, weights
// leave memory and come back, and the log of what was decided replays.
func TestSqueeze(t *testing.T) {
	if testing.Short() || os.Getenv("CI") != "" {
		t.Skip("takes a model of 200 MB")
	}
	const limit, take = 640 << 20, 400 << 20
	g, err := newControlGroup(limit)
	if err != nil {
		t.Skip("no control group: ", err)
	}
	defer func() {
		if err := g.remove(); err != nil {
			t.Error(err)
		}
	}()
	model := wideModel(t, t.TempDir())
	dir := t.TempDir()
	decisions, timeline := filepath.Join(dir, "d.jsonl"), filepath.Join(dir, "t.log")
	tokens := make([]string, 250)
	for i := range tokens {
		tokens[i] = strconv.Itoa(3 + i%300)
	}
	args := []string{"logits", model, "--tokens", strings.Join(tokens, ","), "--all", "--step", "1", "--json", "--threads", "1"}
	want, err := program(t, args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	run := program(t, append(args, "--decisions", decisions, "--timeline", timeline)...)
	var out, errw bytes.Buffer
	run.Stdout, run.Stderr = &out, &errw
	begin(t, g, run)
	time.Sleep(time.Second)
	hoard := program(t)
	hoard.Env = append(os.Environ(), fmt.Sprintf("%s=%d", hoardVar, take))
	in, err := hoard.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	taken, err := hoard.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	begin(t, g, hoard)
	firstByte(t, taken)
	time.Sleep(time.Second)
	in.Close()
	_ = hoard.Wait() // its output was closed
	if err := run.Wait(); err != nil {
		t.Fatalf("%v: %s", err, errw.String())
	}
	if !bytes.Equal(out.Bytes(), want) {
		t.Error("the logits are not those of a run that nobody squeezes")
	}
	lines, err := os.ReadFile(timeline)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"reason=RAM pressure high; Priority offloading enabled; selected", "bringing back", "name=prefetch:", "TICK_END tick="} {
		if !strings.Contains(string(lines), line) {
			t.Errorf("the timeline has no line with %q", line)
		}
	}
	if b, err := program(t, "replay", decisions).CombinedOutput(); err != nil {
		t.Errorf("replay: %v: %s", err, b)
	}
}

// begin starts a program in a control group.
func begin(t *testing.T, g *controlGroup, c *exec.Cmd) {
	t.Helper()
	self, _ := os.Executable()
	c.Path, c.Args = "/bin/sh", append([]string{"sh", "-c", `echo $$ > "$0"/cgroup.procs && exec "$@"`, g.dir, self}, c.Args[1:]...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill() })
}
