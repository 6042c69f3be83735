package atenia

import (
	"errors"
	"fmt"

	"atenia/internal/engine"
	"atenia/internal/model/file"
	"atenia/internal/model/text"
	"atenia/internal/sample"
	"atenia/internal/sched"
	"atenia/internal/text/chat"
)

// Kinds of failure, for [errors.Is].
var (
	// ErrClosed is the error of requests to a closed model, and of those that
	// [Model.Close] ended.
	ErrClosed = sched.ErrClosed
	// ErrNoTokenizer matches errors about text for a model whose tokenizer is not there, or
	// cannot be run: it computes with token ids alone.
	ErrNoTokenizer = errors.New("the model has no tokenizer")
	// ErrNoTemplate is returned by [Model.Chat] for a model without a chat
	// template: use [Model.Generate] with text in the form the model knows.
	ErrNoTemplate = errors.New("the model has no chat template")
	// ErrNoWeights matches the error of [Plan.Place] for a folder that has a
	// configuration but no weights. [OpenPlan] works without.
	ErrNoWeights = engine.ErrNoWeights
	// ErrStrict matches errors about a fallback that [Config.Strict] forbids.
	ErrStrict = engine.ErrStrict
)

// A ConfigError names a field of a configuration whose value cannot be used.
// Several faults come joined in one error.
type ConfigError struct {
	Field string // such as "Threads"
	Got   any    // nil where Want says what is wrong
	Want  string // the values that can be used
}

// Error implements error.
func (e *ConfigError) Error() string { return (*engine.FieldError)(e).Error() }

// A SamplingError names a field of [Sampling] whose value cannot be used.
// Several faults come joined in one error.
type SamplingError struct {
	Field string // such as "TopP"
	Got   any    // its value
	Want  string // the values that can be used
}

// Error implements error.
func (e *SamplingError) Error() string { return (*sample.ParamError)(e).Error() }

// A ContextError says that a prompt is longer than the model's context.
// Shorten the prompt, or open the model with a larger Config.Context.
type ContextError struct {
	Prompt  int // tokens of the prompt
	Context int // tokens that a sequence may have
	// More says that the prompt has at least so many tokens: it was not tokenized, because no
	// text of so many bytes fits.
	More bool
	// Cache says that Context is what [Config].CacheBytes has memory for, and that the model's
	// own is longer.
	Cache bool
}

// Error implements error.
func (e *ContextError) Error() string {
	if e.More {
		return fmt.Sprintf("a prompt of at least %d tokens does not fit a context of %d: shorten it", e.Prompt, e.Context)
	}
	return (&sched.ContextError{Prompt: e.Prompt, Context: e.Context, Cache: e.Cache}).Error()
}

// A TemplateError says that the model's chat template does not take a conversation. Many
// want turns of the user and of the assistant by turns, and some no system message:
// Message is then the template's own. Change the conversation.
type TemplateError struct {
	Message string
}

// Error implements error.
func (e *TemplateError) Error() string {
	return "the model's chat template does not take the conversation: " + e.Message
}

// A ChangedError says that another program wrote to a file of a model while it was
// open. The model cannot be used any more: all requests end with this error, those to
// come included. Close it, and open the new file:
//
//	if _, ok := errors.AsType[*atenia.ChangedError](err); ok {
//		m.Close()
//		m, err = atenia.Open(ctx, path, cfg)
//	}
type ChangedError struct {
	File   string
	Offset int64 // of the first byte that is known to be lost; 0 if none is
	Was    int64 // size of the file when it was opened
	Now    int64 // size when the change was noticed
	// Streamed says that the weights were read as they were wanted, and not mapped.
	Streamed bool
}

// Error implements error.
func (e *ChangedError) Error() string { return (*file.ChangedError)(e).Error() }

// A publishedError is an error of an internal package that also matches one of
// this package's types. Its text is that of the internal error.
type publishedError struct{ internal, public error }

func (e *publishedError) Error() string { return e.internal.Error() }

func (e *publishedError) Unwrap() []error { return []error{e.public, e.internal} }

// publish lets err match the types of this package where an error of an
// internal package has one here.
func publish(err error) error {
	var public error
	if e, ok := errors.AsType[*engine.FieldError](err); ok {
		public = (*ConfigError)(e)
	} else if e, ok := errors.AsType[*sample.ParamError](err); ok {
		public = (*SamplingError)(e)
	} else if e, ok := errors.AsType[*sched.ContextError](err); ok {
		public = &ContextError{Prompt: e.Prompt, Context: e.Context, Cache: e.Cache}
	} else if e, ok := errors.AsType[*sched.CacheError](err); ok {
		public = &ConfigError{"CacheBytes", e.Budget, fmt.Sprintf("%d or more, a page of keys and values", e.Least)}
	} else if e, ok := errors.AsType[*text.GrammarError](err); ok {
		public = &GrammarError{Pointer: e.Pointer, Offset: e.Offset, Why: e.Why, Err: e.Err, States: e.States, Took: e.Took}
	} else if e, ok := errors.AsType[*file.ChangedError](err); ok {
		public = (*ChangedError)(e)
	} else if e, ok := errors.AsType[*chat.RaiseError](err); ok {
		public = &TemplateError{e.Message}
	} else if e, ok := errors.AsType[*chat.RuntimeError](err); ok {
		public = &TemplateError{e.Error()}
	} else {
		return err
	}
	return &publishedError{err, public}
}

// convertAll converts the elements of a slice. nil stays nil.
func convertAll[T, U any](in []T, f func(T) U) []U {
	if in == nil {
		return nil
	}
	out := make([]U, len(in))
	for i := range in {
		out[i] = f(in[i])
	}
	return out
}

// A noTokenizer is an error that matches [ErrNoTokenizer].
type noTokenizer struct{ error }

func (e noTokenizer) Unwrap() error { return e.error }

func (noTokenizer) Is(target error) bool { return target == ErrNoTokenizer }
