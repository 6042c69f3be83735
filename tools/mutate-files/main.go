package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	o := options{}
	flag.Uint64Var(&o.seed, "seed", 1, "of all random choices")
	flag.Uint64Var(&o.cases, "cases", 0, "how many cases (0: until -for is over)")
	flag.Uint64Var(&o.from, "from", 0, "index of the first case")
	flag.DurationVar(&o.time, "for", time.Minute, "how long, unless -cases says how many")
	flag.Int64Var(&o.index, "index", -1, "run this case alone, here")
	flag.StringVar(&o.write, "write", "", "write the files of -index to this folder and run nothing")
	flag.StringVar(&o.format, "format", "", "only cases of this format")
	flag.IntVar(&o.workers, "workers", 1, "processes")
	flag.IntVar(&o.readers, "readers", 0, "run cases in this process, so many at once")
	flag.StringVar(&o.root, "root", "", "the repository (default: the next folder upwards with testdata/golden)")
	flag.StringVar(&o.log, "log", "", "append the verdict of every case to this file")
	flag.StringVar(&o.report, "report", "", "run nothing, print the table of such a file")
	flag.StringVar(&o.temp, "temp", "", "folder for a folder of files that lasts as long as the run (default: /dev/shm, if there is one)")
	flag.BoolVar(&o.child, "child", false, "run the ranges of cases that standard input names")
	flag.Parse()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "mutate-files:", err)
		os.Exit(1)
	}
}

type options struct {
	seed, cases, from uint64
	time              time.Duration
	index             int64
	write             string
	format, root      string
	log, report, temp string
	workers, readers  int
	child             bool
}

// errFindings says that a campaign found something.
var errFindings = errors.New("there are findings")

func (o *options) run() error {
	if o.report != "" {
		return o.printLog()
	}
	if o.temp == "" {
		o.temp = tempFolder()
	}
	temp, err := os.MkdirTemp(o.temp, "mutate-files")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	// What commands keep of a run stays here.
	for _, name := range []string{"XDG_STATE_HOME", "XDG_CACHE_HOME", "HOME", "TMPDIR"} {
		dir := filepath.Join(temp, name)
		if err := errors.Join(os.Mkdir(dir, 0o755), os.Setenv(name, dir)); err != nil {
			return err
		}
	}
	c := &campaign{seed: o.seed, temp: temp, from: o.from, cases: o.cases, workers: max(1, o.workers)}
	if err := c.load(o.root); err != nil {
		return err
	}
	if o.format != "" {
		for _, f := range formats {
			if f.name == o.format {
				c.only = f
			}
		}
		if c.only == nil {
			return fmt.Errorf("there is no format %q", o.format)
		}
	}
	switch {
	case o.child:
		return c.child(os.Stdin, os.Stdout)
	case o.index >= 0:
		return c.single(uint64(o.index), o.write)
	}
	if o.cases == 0 {
		c.end = time.Now().Add(o.time)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r := &report{formats: map[string]*figures{}, log: os.Stdout}
	if o.log != "" {
		f, err := os.OpenFile(o.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		defer f.Close()
		r.verdicts = f
	}
	start := time.Now()
	if o.readers > 0 {
		err = c.together(o.readers, r)
	} else {
		err = c.run(ctx, r)
	}
	r.print(os.Stdout, c, time.Since(start))
	if len(r.findings) > 0 {
		err = errors.Join(err, errFindings)
	}
	return err
}

// printLog sums up parts of a campaign, which may have run one after the other.
func (o *options) printLog() error {
	f, err := os.Open(o.report)
	if err != nil {
		return err
	}
	defer f.Close()
	r := &report{formats: map[string]*figures{}, log: io.Discard}
	if err := r.read(f); err != nil {
		return err
	}
	var took time.Duration
	for _, x := range r.formats {
		for _, us := range x.nanos {
			took += time.Duration(us) * time.Microsecond
		}
	}
	r.print(os.Stdout, &campaign{seed: o.seed, from: o.from}, took)
	return nil
}

// tempFolder prefers memory to a disk, which a campaign would wear.
func tempFolder() string {
	if d, err := os.Stat("/dev/shm"); err == nil && d.IsDir() {
		return "/dev/shm"
	}
	return ""
}

// load collects the samples, and lays out which index is of which format.
func (c *campaign) load(root string) error {
	if root == "" {
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		for root = dir; ; root = filepath.Dir(root) {
			if d, err := os.Stat(filepath.Join(root, "testdata", "golden")); err == nil && d.IsDir() {
				break
			}
			if root == filepath.Dir(root) {
				return errors.New("no folder testdata/golden above this one: say -root")
			}
		}
	}
	c.root = root
	from := &corpus{root: root, temp: filepath.Join(c.temp, "samples")}
	if err := os.Mkdir(from.temp, 0o755); err != nil {
		return err
	}
	most := 0
	for _, f := range formats {
		f.samples = nil
		f.collect(from, func(s ...entry) { f.samples = append(f.samples, s) })
		if from.err != nil {
			return fmt.Errorf("samples of %s: %w", f.name, from.err)
		}
		if len(f.samples) == 0 {
			return fmt.Errorf("no samples of %s", f.name)
		}
		most = max(most, f.weight)
	}
	// Formats take turns, so that every part of a campaign has all of them.
	c.wheel = nil
	for turn := range most {
		for _, f := range formats {
			if (turn+1)*f.weight/most > turn*f.weight/most {
				c.wheel = append(c.wheel, f)
			}
		}
	}
	return nil
}

// single runs one case in this process, or writes its files.
func (c *campaign) single(index uint64, write string) error {
	d := c.makeCase(index)
	if write != "" {
		for _, e := range d.files {
			fmt.Printf("%s: %d bytes\n", filepath.Join(write, e.name), len(e.data))
		}
		return d.files.write(write)
	}
	x := &scratch{ctx: context.Background(), dir: filepath.Join(c.temp, "case")}
	if err := os.MkdirAll(x.dir, 0o755); err != nil {
		return err
	}
	v := judge(x, d, true)
	fmt.Printf("%s, %d bytes: accepted %v, %v, %.1f MiB allocated (exact %v), limit %.1f MiB\n%s %s\n", v.Format, v.Input, v.Accepted,
		time.Duration(v.Nanos), float64(v.Bytes)/(1<<20), v.Exact, float64(d.limit())/(1<<20), v.Fault, v.Text)
	if v.Fault != "" {
		return errFindings
	}
	return nil
}
