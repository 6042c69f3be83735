package mcp

// Prompts, and the completion of their arguments.

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// diagnosePrompt is the name of the prompt that asks how a model runs here.
const diagnosePrompt = "diagnose"

func (s *Server) addPrompts() {
	s.sdk.AddPrompt(&sdk.Prompt{
		Name: diagnosePrompt, Title: "Why is this model as fast as it is?",
		Description: "What was decided for a model on this machine, and the question what bounds its speed and what would help.",
		Arguments:   []*sdk.PromptArgument{{Name: "model", Description: "name of a model, see resource atenia://models; default: the first"}},
	}, s.diagnose)
}

func (s *Server) diagnose(ctx context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	name := req.Params.Arguments["model"]
	if names := s.cfg.Names(); name == "" && len(names) > 0 {
		name = names[0]
	}
	uri := decisionsURI + "/" + name
	if !s.isResource(decisionsURI, uri) || name == "" {
		return nil, errors.New("there is no model " + name + "; there are " + strings.Join(s.cfg.Names(), ", "))
	}
	v, err := s.decisions(ctx, name)
	if err != nil {
		return nil, s.tell(diagnosePrompt, err)
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	const question = "This is what Atenia decided for a language model on this machine: how its weights are kept, where its memory is, and the account of its last run if there was one. " +
		"Say what bounds its speed, by the numbers given, and which one change would help most. If the numbers do not tell, say which are missing."
	return &sdk.GetPromptResult{
		Description: "How " + name + " runs on this machine",
		Messages: []*sdk.PromptMessage{
			{Role: "user", Content: &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: uri, MIMEType: jsonType, Text: string(b)}}},
			{Role: "user", Content: &sdk.TextContent{Text: question}},
		},
	}, nil
}

// mostCompletions is how many values a completion may have, by the protocol.
const mostCompletions = 100

// complete completes names of models, in the prompt and in templates of resources.
// Others are for the program to complete.
func (s *Server) complete(ctx context.Context, req *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	res := &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{}}}
	ref, arg := req.Params.Ref, req.Params.Argument
	if ref == nil {
		return res, nil
	}
	prompt := ref.Type == "ref/prompt" && ref.Name == diagnosePrompt && arg.Name == "model"
	resource := ref.Type == "ref/resource" && (ref.URI == modelsURI+template || ref.URI == decisionsURI+template) && arg.Name == "name"
	if !prompt && !resource {
		if more := s.cfg.Extra.Complete; more != nil {
			return more(ctx, req)
		}
		return res, nil
	}
	for _, name := range s.cfg.Names() {
		if strings.HasPrefix(name, arg.Value) {
			res.Completion.Values = append(res.Completion.Values, name)
		}
	}
	d := &res.Completion
	d.Total = len(d.Values)
	if d.HasMore = d.Total > mostCompletions; d.HasMore {
		d.Values = d.Values[:mostCompletions]
	}
	return res, nil
}
