package host

// Models by name: loaded when wanted, unloaded when idle, within one budget.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"atenia"
	"atenia/internal/fault"
	"atenia/internal/spelling"
	"atenia/place"
)

// defaultName is the name that the first model of a pool also answers to.
const defaultName = "default"

// A Source is a model that a pool can load.
type Source struct {
	Name string // "" = the path's last part without an extension
	Path string // "" = the embedded model
	// Adapters are kept beside its weights, and have names like models.
	Adapters []atenia.Adapter
	Draft    string // path of a model that drafts for it; "" = that of Open
}

// A PoolConfig says which models a [Pool] has. The zero value has the embedded one.
type PoolConfig struct {
	Sources []Source
	Open    atenia.Config // of every model; Open.Budget.RAM is what all have together
	// Aliases are further names of what Sources has: "gpt-4o,claude-*=NAME".
	Aliases []string
	// WholeContext lets models have their own contexts, where Open.Context is 0.
	WholeContext bool
	// Idle is how long a model stays loaded that nothing uses. 0 = 5 minutes, less = for
	// ever. The first model stays until its memory is wanted.
	Idle   time.Duration
	Logger *slog.Logger // nil = discard
	// AdapterDir is a folder of adapters that clients may load. "" = they may load none.
	AdapterDir string
	// Loaded is told of each load. nil = nobody is.
	Loaded func(name string, took time.Duration, err error)
	// Changed is told of each model that was loaded or unloaded. It must return at once and
	// must not use the pool. nil = nobody is.
	Changed func(name string)
}

// An Info is what a dialect shows of a model.
type Info struct {
	Name    string
	Path    string // "" = the embedded model; dialects show Base
	Base    string // the path's last part
	Family  string // such as "llama"
	Context int    // tokens of a sequence
	Created time.Time
	Totals  atenia.Totals // parameters, bytes, element types
	Loaded  bool
	Users   int           // requests that hold it
	Expires time.Time     // when it will be unloaded; zero = it is in use, or stays
	Keep    time.Duration // how long it stays loaded when nothing uses it; less than 0 = until its memory is wanted
	Share   int64         // bytes of the budget that it has, 0 = there is no budget
	Parent  string        // of an adapter: the model that it belongs to; "" = it is a model
}

// A Pool lends models by name.
type Pool struct {
	c       PoolConfig
	entries []*entry
	ctx     context.Context // of loads
	stop    context.CancelFunc
	loads   fault.Group
	one     sync.Mutex // held by the load that is under way
	aliases []alias

	mu        sync.Mutex
	closed    bool
	past      place.CacheStats // of models that were unloaded
	pastSteps place.StepCounts // likewise
}

// An entry is one model of a pool.
type entry struct {
	info    Info
	model   *instance     // nil = not loaded
	loading chan struct{} // closed when a load ends; nil = there is none
	failed  error         // of the last load
	beside  []atenia.Adapter
	draft   string // path of a model that drafts; "" = none
	context int    // tokens of a sequence, 0 = as [atenia.Open] has it
	idle    *time.Timer
}

// An instance is one loading of a model: a file that changed makes another.
type instance struct {
	*atenia.Model
	users int
	share int64
	keep  time.Duration // as [Info].Keep
	gone  bool          // to be closed when the last user leaves
	used  time.Time     // since when nobody uses it

	system systemTurns
}

// NewPool reads the headers of all models, so that a path that cannot be served is an
// error now, and loads none.
func NewPool(c PoolConfig) (*Pool, error) {
	if len(c.Sources) == 0 {
		c.Sources = []Source{{}}
	}
	c.Idle = cmp.Or(c.Idle, 5*time.Minute)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	p := &Pool{c: c}
	var errs, unreadable []error
	for _, s := range c.Sources {
		e, err := describe(s, &c.Open, c.WholeContext)
		if err != nil {
			unreadable = append(unreadable, err)
			continue
		}
		if p.taken(e.info.Name) {
			errs = append(errs, fmt.Errorf("two models are named %q: give one another name (NAME=PATH)", e.info.Name))
		}
		p.entries = append(p.entries, e)
		errs = append(errs, p.nameAdapters(e, s.Adapters))
	}
	if len(p.entries) == 0 { // one that can be read is enough to begin with
		errs = append(errs, unreadable...)
	}
	if len(unreadable) == 0 || len(p.entries) > 0 {
		errs = append(errs, p.nameAliases())
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for _, err := range unreadable {
		c.Logger.Error("model left out", "err", err)
	}
	p.ctx, p.stop = context.WithCancel(context.Background())
	return p, nil
}

// find returns the entry of a name, nil = there is none, and the adapter if it is the
// name of one. Names are compared without Ollama's tag ":latest". The pool is locked.
func (p *Pool) find(name string) (e *entry, adapter string) {
	name = strings.TrimSuffix(name, ":latest")
	for i, e := range p.entries {
		if e.info.Name == name || i == 0 && (name == "" || name == defaultName) {
			return e, ""
		}
	}
	if e, adapter = p.findAdapter(name); e == nil {
		for _, a := range p.aliases {
			if ok, _ := path.Match(a.pattern, name); ok {
				return p.find(a.of)
			}
		}
	}
	return e, adapter
}

// An alias is another name of a model or an adapter, or a pattern of such names.
type alias struct{ pattern, of string }

// nameAliases reads the configuration's.
func (p *Pool) nameAliases() error {
	var errs []error
	for _, text := range p.c.Aliases {
		names, of, ok := strings.Cut(text, "=")
		for pattern := range strings.SplitSeq(names, ",") {
			pattern = strings.TrimSpace(pattern)
			_, err := path.Match(pattern, "")
			switch {
			case !ok || pattern == "" || err != nil || strings.Contains(pattern, "/"):
				errs = append(errs, &atenia.ConfigError{Field: "Aliases", Got: text, Want: "NAME,…=MODEL, where a NAME may have * for anything"})
			case !p.taken(of):
				errs = append(errs, &atenia.ConfigError{Field: "Aliases", Got: text, Want: "the name of a model or an adapter after the ="})
			case p.taken(pattern):
				errs = append(errs, fmt.Errorf("two models are named %q", pattern))
			default:
				defer func() { p.aliases = append(p.aliases, alias{pattern, of}) }() // an alias of an alias is none
			}
		}
	}
	return errors.Join(errs...)
}

// Lookup returns what is known of a model, by the same names as [Pool.Borrow].
func (p *Pool) Lookup(name string) (Info, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e, adapter := p.find(name)
	if e == nil {
		return Info{}, p.unknown(name)
	}
	return e.as(adapter), nil
}

// List returns all models, the default first.
func (p *Pool) List() []Info {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]Info, len(p.entries))
	for i, e := range p.entries {
		out[i] = e.now()
	}
	return out
}

// now returns the entry's info with its state.
func (e *entry) now() Info {
	i := e.info
	if e.model != nil {
		i.Loaded, i.Users, i.Share, i.Keep = true, e.model.users, e.model.share, e.model.keep
	}
	return i
}

func (p *Pool) unknown(name string) *Problem {
	var names []string
	for _, e := range p.entries {
		names = append(names, e.info.Name)
		for _, a := range e.beside {
			names = append(names, a.Name)
		}
	}
	return &Problem{
		Status: http.StatusNotFound, Code: "model_not_found", Param: "model",
		Message: spelling.Sprintf("The model %q does not exist. There are: %s.", name, strings.Join(names, ", ")),
	}
}

// A Lease is a model that is borrowed: it is not unloaded until it is released.
type Lease struct {
	*atenia.Model
	Info Info
	p    *Pool
	e    *entry
	i    *instance
	look bool // it is looked at, which is no use

	adapter string // that was asked for; "" = the model alone
	once    sync.Once
}

// Borrow returns a model by its name, and loads it first if it is not; "" and "default"
// are the first one. A load goes on when ctx ends, since others may wait for it.
// Release the lease.
func (p *Pool) Borrow(ctx context.Context, name string) (*Lease, error) {
	p.mu.Lock()
	e, adapter := p.find(name)
	if e == nil {
		defer p.mu.Unlock()
		return nil, p.unknown(name)
	}
	for waited := false; ; waited = true {
		switch {
		case p.closed:
			p.mu.Unlock()
			return nil, atenia.ErrClosed
		case e.model != nil:
			e.model.users++
			e.info.Expires = time.Time{}
			l := &Lease{Model: e.model.Model, Info: e.as(adapter), p: p, e: e, i: e.model, adapter: adapter}
			p.mu.Unlock()
			return l, nil
		case e.loading == nil && waited && e.failed != nil:
			err := e.failed
			p.mu.Unlock()
			return nil, err
		case e.loading == nil:
			e.loading = make(chan struct{})
			p.loads.Go(func() { p.load(e) })
		}
		loading := e.loading
		p.mu.Unlock()
		select {
		case <-loading:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		p.mu.Lock()
	}
}

// Loaded borrows all models that are loaded, the default first, to look at them: they
// are unloaded when they would have been. Release the leases.
func (p *Pool) Loaded() (out []*Lease) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.entries {
		if e.model == nil || p.closed {
			continue
		}
		e.model.users++
		out = append(out, &Lease{Model: e.model.Model, Info: e.now(), p: p, e: e, i: e.model, look: true})
	}
	return out
}

// Release gives the model back. It may be called more than once.
func (l *Lease) Release() { l.once.Do(func() { l.p.release(l) }) }

func (p *Pool) changed(e *entry) {
	if p.c.Changed != nil {
		p.c.Changed(e.info.Name)
	}
}

// discard unloads the model when its last user has released it, and the next request
// loads it again. It is for one whose files changed.
func (l *Lease) discard() {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	l.i.gone = true
	if l.e.model == l.i {
		l.e.model = nil
	}
}

func (p *Pool) release(l *Lease) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := l.i
	if i.users--; i.users > 0 {
		return
	}
	if i.gone || p.closed {
		p.close(l.e, i, "its files changed")
		return
	}
	if until := l.e.info.Expires; l.look && !until.IsZero() {
		if !time.Now().Before(until) {
			p.close(l.e, i, "idle")
		}
		return
	}
	i.used = time.Now()
	p.rest(l.e, i)
}

// rest unloads a model that nobody uses, now or after a while.
func (p *Pool) rest(e *entry, i *instance) {
	switch {
	case i.keep == 0:
		p.close(e, i, "keep_alive is 0")
	case i.keep > 0:
		p.expire(e, i.keep)
	}
}

// Keep says how long the model stays loaded when nothing uses it any more, until another
// lease says otherwise: 0 = not at all, less = until its memory is wanted. A model that
// is loaded again is kept as the pool's Idle says.
func (l *Lease) Keep(d time.Duration) {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	l.i.keep = d
}

// Unload unloads a model as soon as nothing uses it. One that is not loaded is not
// loaded for that.
func (p *Pool) Unload(name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	e, _ := p.find(name)
	if e == nil {
		return p.unknown(name)
	}
	if i := e.model; i != nil {
		if i.keep = 0; i.users == 0 {
			p.rest(e, i)
		}
	}
	return nil
}

// idle returns how long a model stays loaded if no request says it.
func (p *Pool) idle(e *entry) time.Duration {
	if p.c.Idle < 0 || e == p.entries[0] {
		return -1
	}
	return p.c.Idle
}

// expire unloads an idle model after a while.
func (p *Pool) expire(e *entry, after time.Duration) {
	e.info.Expires = time.Now().Add(after)
	if e.idle != nil {
		e.idle.Stop()
	}
	e.idle = time.AfterFunc(after, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if i := e.model; i != nil && i.users == 0 && !time.Now().Before(e.info.Expires) && !e.info.Expires.IsZero() {
			p.close(e, i, "idle")
		}
	})
}

// close unloads an instance that nobody uses. The pool is locked: closing is quick when
// no request runs.
func (p *Pool) close(e *entry, i *instance, why string) {
	if e.model == i {
		e.model, e.info.Expires = nil, time.Time{}
	}
	p.past, p.pastSteps = plus(p.past, i.CacheStats()), plusSteps(p.pastSteps, i.StepCounts())
	err := fault.Call(i.Close)
	p.c.Logger.Info("model unloaded", "model", e.info.Name, "because", why, "err", err)
	p.changed(e)
}

// Close ends all requests and unloads all models.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	p.stop()
	p.mu.Unlock()
	p.loads.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, e := range p.entries {
		if e.idle != nil {
			e.idle.Stop()
		}
		if i := e.model; i != nil {
			e.model = nil
			errs = append(errs, i.Close())
		}
	}
	return errors.Join(errs...)
}
