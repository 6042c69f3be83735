package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	o := options{out: os.Stdout}
	var with string
	flag.StringVar(&o.run.run, "run", "", "only tests that match")
	flag.BoolVar(&o.run.long, "long", false, "run tests without -short")
	flag.StringVar(&with, "with", "", "further packages whose tests run, separated by commas")
	flag.StringVar(&o.match, "files", "", "only files whose name contains this")
	flag.IntVar(&o.sample, "sample", 0, "how many errors, drawn at random (0: all)")
	flag.Uint64Var(&o.seed, "seed", 1, "of the draw")
	flag.DurationVar(&o.time, "for", 0, "plant no more after this time (0: no limit)")
	flag.Float64Var(&o.least, "least", 0.95, "share that must be found")
	flag.StringVar(&o.excused, "excused", "", "file of survivors with reasons")
	flag.StringVar(&o.run.root, "root", "", "the repository (default: the next folder upwards with .git)")
	flag.Parse()
	o.packages = flag.Args()
	o.run.tests = o.packages
	if with != "" {
		o.run.tests = append(strings.Split(with, ","), o.packages...)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := o.plantAll(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

type options struct {
	run      runner
	packages []string
	match    string
	sample   int
	seed     uint64
	time     time.Duration
	least    float64
	excused  string
	out      io.Writer
}

// plantAll plants errors one after another and says what became of them.
func (o *options) plantAll(ctx context.Context) (err error) {
	if len(o.packages) == 0 {
		return errors.New("no packages: name some, such as ./nested/rule")
	}
	if o.run.root == "" {
		if o.run.root, err = repository(); err != nil {
			return err
		}
	}
	if o.run.temp, err = os.MkdirTemp("", "mutate"); err != nil {
		return err
	}
	defer os.RemoveAll(o.run.temp)
	reasons, err := readReasons(o.excused)
	if err != nil {
		return err
	}
	list, sources, err := o.sites()
	if err != nil {
		return err
	}
	began := time.Now()
	if out, err := o.run.test(ctx, nil); err != nil {
		return fmt.Errorf("the tests fail without an error planted: %w\n%s", err, out)
	}
	o.run.limit = 3*time.Since(began) + 30*time.Second // what an error may hang for
	fmt.Fprintf(o.out, "%d errors can be planted; the tests take %.1f s\n", len(list), time.Since(began).Seconds())
	rng := rand.New(rand.NewPCG(o.seed, 0))
	if o.sample > 0 {
		rng.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
		list = list[:min(o.sample, len(list))]
	}
	var count [3]int
	excused := 0
	for i := range list {
		s := &list[i]
		if o.time > 0 && time.Since(began) > o.time {
			break
		}
		v, err := o.run.plant(ctx, s, sources[s.file])
		if err != nil {
			return err
		}
		if why := reasons[s.key()]; v == survived && why != "" {
			excused++
			fmt.Fprintf(o.out, "excused\t%s\t%s\n", s, why)
			continue
		}
		if count[v]++; v == survived {
			fmt.Fprintf(o.out, "survived\t%s\t%d\n", s, s.nth)
		}
	}
	all := count[killed] + count[survived]
	share := float64(count[killed]) / float64(max(1, all))
	fmt.Fprintf(o.out, "%d planted, %d found (%.1f %%), %d survived, %d excused, %d do not compile\n", all, count[killed], 100*share, count[survived], excused, count[invalid])
	if all > 0 && share < o.least {
		return fmt.Errorf("%.1f %% were found, want %.1f %%", 100*share, 100*o.least)
	}
	return nil
}

// sites returns the errors that can be planted, and the content of the files.
func (o *options) sites() (list []site, sources map[string][]byte, err error) {
	files, err := o.run.files(o.packages)
	if err != nil {
		return nil, nil, err
	}
	sources = map[string][]byte{}
	for _, f := range files {
		if !strings.Contains(filepath.Base(f), o.match) {
			continue
		}
		src, err := os.ReadFile(filepath.Join(o.run.root, f))
		if err != nil {
			return nil, nil, err
		}
		sites, err := sitesOf(f, src)
		if err != nil {
			return nil, nil, err
		}
		list, sources[f] = append(list, sites...), src
	}
	return list, sources, nil
}

// repository returns the next folder upwards that has .git.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("this is no repository: name it with -root")
		}
		dir = up
	}
}

// readReasons reads why survivors are excused, by [site.key].
func readReasons(name string) (map[string]string, error) {
	reasons := map[string]string{}
	if name == "" {
		return reasons, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	for n := 1; sc.Scan(); n++ {
		text := sc.Text()
		if text == "" || text[0] == '#' {
			continue
		}
		at := strings.LastIndex(text, "\t")
		if strings.Count(text, "\t") != 4 || at == len(text)-1 {
			return nil, fmt.Errorf("%s:%d: want file, function, change, number and reason, separated by tabs", name, n)
		}
		reasons[text[:at]] = text[at+1:]
	}
	return reasons, sc.Err()
}
