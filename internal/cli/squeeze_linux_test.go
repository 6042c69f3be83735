package cli

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
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

	"atenia/internal/golden/await"
	"atenia/internal/machine/hw"
)

// hoardVar makes a test binary take that many bytes of memory, piece by piece,
// and hold them until its input ends. A piece is taken once it has room: the kernel
// kills whoever wants what nobody can give back yet. It writes "w" when it begins to
// wait for room, "t" when it goes on, "." when it has all.
const hoardVar = "ATENIA_TEST_HOARD"

func init() {
	n, err := strconv.Atoi(os.Getenv(hoardVar))
	if err != nil {
		return
	}
	const piece = 2 << 20
	memory := hw.NewSampler()
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for ; n > 0; n -= piece {
		if memory.Sample().AvailableBytes < 2*piece {
			fmt.Print("w")
			for memory.Sample().AvailableBytes < 2*piece {
				time.Sleep(time.Millisecond)
			}
			fmt.Print("t")
		}
		b := make([]byte, piece)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		hoarded = append(hoarded, b)
	}
	fmt.Print(".")
	select {}
}

var hoarded [][]byte

// wideModel writes a model of about 105 MB whose tokens are quick.
func wideModel(t *testing.T, dir string) string {
	t.Helper()
	const width, inner, layers, vocab = 1024, 4096, 3, 1280
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

// A squeezedRun is a run in a control group whose logits the test reads row by
// row. A row that is not read yet stops the run at most a dozen rows later, so
// that what happens between two rows does not depend on how fast the machine is.
type squeezedRun struct {
	t                   *testing.T
	group               *controlGroup
	cmd                 *exec.Cmd
	rows                io.Reader
	out, errw           bytes.Buffer
	want                []byte
	read                int // rows
	decisions, timeline string
}

// The rows of a run that is squeezed, each of some 15 kB of text. Those that a run may be
// ahead are some 8: a buffer of the program and one of the pipe.
const (
	squeezeRows = 90
	rowsAhead   = 12
)

// squeezeIn begins a run of a model in a control group.
func squeezeIn(t *testing.T, limit int64, args []string, want []byte) *squeezedRun {
	t.Helper()
	g, err := newControlGroup(limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // after its programs have ended
		if err := g.remove(); err != nil {
			t.Error(err)
		}
	})
	dir := t.TempDir()
	r := &squeezedRun{t: t, group: g, want: want, decisions: filepath.Join(dir, "d.jsonl"), timeline: filepath.Join(dir, "t.log")}
	r.cmd = program(t, append(slices.Clip(args), "--decisions", r.decisions, "--timeline", r.timeline)...)
	r.cmd.Stderr = &r.errw
	if r.rows, err = r.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	begin(t, g, r.cmd)
	return r
}

// next reads n more rows.
func (r *squeezedRun) next(n int) {
	r.t.Helper()
	for range n {
		if _, err := io.CopyN(&r.out, r.rows, int64(len(r.want)/squeezeRows)); err != nil {
			r.t.Fatalf("after %d rows: %v: %v: %s", r.read, err, r.cmd.Wait(), r.errw.String())
		}
		r.read++
	}
}

// readerPause makes a slow reader: the run looks at its memory twenty times a second, and the
// rows of a fast machine would be over before it has seen that there is enough again.
const readerPause = 20 * time.Millisecond

// end reads what is left, and looks at what the run has left.
func (r *squeezedRun) end() {
	t := r.t
	t.Helper()
	for r.read < squeezeRows {
		r.next(1)
		time.Sleep(readerPause)
	}
	_, err := io.Copy(&r.out, r.rows)
	if err := errors.Join(err, r.cmd.Wait()); err != nil {
		t.Fatalf("%v: %s", err, r.errw.String())
	}
	if !bytes.Equal(r.out.Bytes(), r.want) {
		t.Error("the logits are not those of a run that nobody squeezes")
	}
	lines, err := os.ReadFile(r.timeline)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"reason=RAM pressure high; Priority offloading enabled; selected", "bringing back", "name=prefetch:", "TICK_END tick="} {
		if !strings.Contains(string(lines), line) {
			t.Errorf("the timeline has no line with %q", line)
		}
	}
	if b, err := program(t, "replay", r.decisions).CombinedOutput(); err != nil {
		t.Errorf("replay: %v: %s", err, b)
	}
}

// While tokens come, a neighbour in the control group takes memory, or the group
// gets less, and then there is enough again: nothing is killed, the logits have
// the same bits, weights leave memory and come back, and the log of what was
// decided replays.
func TestSqueeze(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a model of 105 MB")
	}
	t.Parallel() // its programs have groups of their own
	needControlGroups(t)
	tokens := make([]string, squeezeRows)
	for i := range tokens {
		tokens[i] = strconv.Itoa(3 + i%300)
	}
	args := []string{"logits", wideModel(t, t.TempDir()), "--tokens", strings.Join(tokens, ","), "--all", "--json", "--threads", "1"}
	want, err := program(t, args...).Output() // in one pass, which is quick and has the same bits
	if err != nil {
		t.Fatal(err)
	}
	args = append(args, "--step", "1")
	const limit = 526 << 20
	t.Run("neighbour", func(t *testing.T) { squeezeByNeighbour(squeezeIn(t, limit, args, want)) })
	t.Run("limit", func(t *testing.T) { squeezeByLimit(squeezeIn(t, limit, args, want), limit) })
}

// squeezeByNeighbour: another process takes more than half of the memory and
// gives it back.
func squeezeByNeighbour(r *squeezedRun) {
	const take = 400 << 20
	t := r.t
	r.next(10)
	hoard := program(t)
	hoard.Env = append(os.Environ(), fmt.Sprintf("%s=%d", hoardVar, take))
	in, err := hoard.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := hoard.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	begin(t, r.group, hoard)
	signs := make(chan byte)
	go func() {
		defer close(signs)
		for b := []byte{0}; b[0] != '.'; signs <- b[0] {
			if _, err := out.Read(b); err != nil {
				return
			}
		}
	}()
	for sign := byte('t'); sign != '.'; { // rows come while it waits for room
		var ok bool
		if sign == 't' {
			sign, ok = <-signs
		} else {
			select {
			case sign, ok = <-signs:
			case <-time.After(readerPause):
				r.next(1)
				continue
			}
		}
		if !ok {
			t.Fatalf("the neighbour got no memory: %v", hoard.Wait())
		}
	}
	r.next(rowsAhead + 8)
	in.Close()
	_ = hoard.Wait() // its output was closed
	r.end()
}

// squeezeByLimit: the limit of the group itself falls step by step, each time
// once the run has less than that, and rises again.
func squeezeByLimit(r *squeezedRun, limit int64) {
	t := r.t
	// In version 2 a lower memory.max kills what cannot be taken back.
	file := map[string]string{"v1": "memory.limit_in_bytes", "v2": "memory.high"}[r.group.version]
	r.next(10)
	for _, mib := range []int64{176, 136, 106} {
		most := r.read + rowsAhead
		await.Until(t, fmt.Sprintf("a limit of %d MiB", mib), func() bool { // the system refuses what it cannot take back
			if r.group.set(file, mib<<20) == nil {
				return true
			}
			if r.read < most {
				r.next(1)
			}
			return false
		})
		r.next(rowsAhead)
	}
	if err := r.group.set(file, limit); err != nil {
		t.Fatal(err)
	}
	r.end()
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
