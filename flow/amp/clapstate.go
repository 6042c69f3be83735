package amp

import (
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"slices"

	"atenia/flow/amp/internal/abi"
	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/machine/library"
)

// save returns the plug-in's state, at most maxState bytes of it. On the main
// thread.
func (p *plug) save() ([]byte, error) {
	t := p.state()
	if t == nil {
		return nil, &graph.Error{Code: graph.Unsupported, Names: []string{p.node}, Text: p.id + " has no state to save"}
	}
	m, s, data, err := stream(p.lib.table.Write, maxState)
	if err != nil {
		return nil, err
	}
	defer m.Release()
	if !truth(library.Call(t.Save, p.address, abi.Address(s))) || s[0].Failed != 0 || s[0].At > maxState {
		return nil, &CLAPRefusedError{p.lib.path, p.id, fmt.Sprintf("its state could not be saved; at most %d MiB are kept", maxState>>20)}
	}
	return slices.Clone(data[:s[0].At]), nil
}

// load gives the plug-in a saved state. On the main thread.
func (p *plug) load(state []byte) error {
	t := p.state()
	if t == nil {
		return &graph.Error{Code: graph.Unsupported, Names: []string{p.node}, Text: p.id + " cannot restore a state"}
	}
	m, s, data, err := stream(p.lib.table.Read, max(len(state), 1))
	if err != nil {
		return err
	}
	defer m.Release()
	copy(data, state)
	s[0].Len = uint64(len(state))
	if !truth(library.Call(t.Load, p.address, abi.Address(s))) {
		return &graph.Error{Code: graph.State, Names: []string{p.node}, Text: p.id + " rejects the saved state"}
	}
	return nil
}

func stream(move uintptr, size int) (*abi.Memory, []cStream, []byte, error) {
	m, err := abi.NewMemory(abi.SizeOf[cStream](1) + abi.SizeOf[byte](size))
	if err != nil {
		return nil, nil, nil, err
	}
	s, data := abi.Make[cStream](m, 1), abi.Make[byte](m, size)
	s[0] = cStream{Move: move, Data: abi.Address(data), Len: uint64(size)}
	return m, s, data, nil
}

// stateOf returns the state that a plan gives a node: bytes in base64, or a
// file.
func stateOf(n *graph.Node, s node.Settings) ([]byte, error) {
	inline, file := s.Word(setState), s.Word(setStateFile)
	switch {
	case inline != "" && file != "":
		return nil, node.Bad(n, setStateFile, "a state is given twice")
	case inline != "":
		b, err := base64.StdEncoding.DecodeString(inline)
		if err != nil || len(b) > maxState {
			return nil, node.Bad(n, setState, fmt.Sprintf("base64 of at most %d MiB wanted", maxState>>20))
		}
		return b, nil
	case file != "":
		b, err := readState(file)
		if err != nil {
			return nil, node.Bad(n, setStateFile, err.Error())
		}
		return b, nil
	}
	return nil, nil
}

// readState reads a file of a state. What is in it is the plug-in's affair.
func readState(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxState+1))
	if err == nil && len(b) > maxState {
		err = fmt.Errorf("%s has more than %d MiB", path, maxState>>20)
	}
	return b, err
}
