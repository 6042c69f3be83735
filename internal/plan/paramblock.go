package plan

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unsafe"
)

// Limits of the parameter block format, version 1.
const (
	ParamVersion1  = 1
	MaxParamBytes  = 256
	MaxRank        = 4
	paramAlignment = 8
)

// A payload above 256 bytes or not a multiple of 8 does not build: the first
// list would underflow an unsigned constant, the second index out of range.
const (
	_ uintptr = MaxParamBytes - unsafe.Sizeof(AttentionParams{})
	_ uintptr = MaxParamBytes - unsafe.Sizeof(MoEParams{})
	_ uintptr = MaxParamBytes - unsafe.Sizeof(SSMParams{})
	_ uintptr = MaxParamBytes - unsafe.Sizeof(MLAParams{})
	_ uintptr = MaxParamBytes - unsafe.Sizeof(GatedDeltaParams{})
)

var _ = [...]struct{}{
	[1]struct{}{}[unsafe.Sizeof(NormParams{})%paramAlignment],
	[1]struct{}{}[unsafe.Sizeof(AttentionParams{})%paramAlignment],
	[1]struct{}{}[unsafe.Sizeof(FFNParams{})%paramAlignment],
	[1]struct{}{}[unsafe.Sizeof(MoEParams{})%paramAlignment],
	[1]struct{}{}[unsafe.Sizeof(SSMParams{})%paramAlignment],
	[1]struct{}{}[unsafe.Sizeof(ConvParams{})%paramAlignment],
	[1]struct{}{}[unsafe.Sizeof(MLAParams{})%paramAlignment],
	[1]struct{}{}[unsafe.Sizeof(GatedDeltaParams{})%paramAlignment],
	[1]struct{}{}[unsafe.Sizeof(EmbedParams{})%paramAlignment],
	[1]struct{}{}[unsafe.Sizeof(AddParams{})%paramAlignment],
	[1]struct{}{}[unsafe.Sizeof(HeadParams{})%paramAlignment],
	[1]struct{}{}[unsafe.Sizeof(PoolParams{})%paramAlignment],
	[1]struct{}{}[unsafe.Sizeof(PatchParams{})%paramAlignment],
	[1]struct{}{}[unsafe.Sizeof(MergeParams{})%paramAlignment],
	[1]struct{}{}[unsafe.Sizeof(ScatterParams{})%paramAlignment],
}

// A ParamBlock is the versioned payload of one instruction in the form that is
// printed, hashed and stored. It is decoded once, when a plan is bound.
type ParamBlock struct {
	Version uint8
	Op      Opcode
	Data    []byte // little-endian, exactly the size of the opcode's payload
}

// EncodeParams makes the block of an instruction. A nil v is the empty payload.
func EncodeParams(op Opcode, v Params) (ParamBlock, error) {
	pb := ParamBlock{Version: ParamVersion1, Op: op}
	if v != nil {
		var b bytes.Buffer
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			return ParamBlock{}, &ParamABIError{Op: op, Why: err.Error()}
		}
		pb.Data = b.Bytes()
	}
	return pb, pb.Check(op)
}

// ParamBytes returns the payload size of an opcode in bytes.
func (s *OpSpec) ParamBytes() int {
	if s.Params == nil {
		return 0
	}
	return binary.Size(s.Params())
}

// Check is the load-time gate: version, opcode and size. Nothing on the token
// path calls it.
func (p *ParamBlock) Check(op Opcode) error {
	s := Specs.Get(op)
	switch {
	case s == nil:
		return &OpcodeError{Op: op}
	case p.Version != ParamVersion1:
		return &ParamABIError{Op: op, Why: fmt.Sprintf("version %d, want %d", p.Version, ParamVersion1)}
	case p.Op != op:
		return &ParamABIError{Op: op, Why: "payload is for " + p.Op.String()}
	case len(p.Data) > MaxParamBytes:
		return &ParamABIError{Op: op, Why: fmt.Sprintf("%d bytes, at most %d", len(p.Data), MaxParamBytes)}
	case len(p.Data) != s.ParamBytes():
		return &ParamABIError{Op: op, Why: fmt.Sprintf("%d bytes, want %d", len(p.Data), s.ParamBytes())}
	}
	return nil
}

// decodeFor is Decode of a block that must be the payload of op.
func (p *ParamBlock) decodeFor(op Opcode) (Params, error) {
	if err := p.Check(op); err != nil {
		return nil, err
	}
	return p.Decode()
}

// Decode returns the typed payload, nil for an opcode without one. It runs
// once per instruction when a plan is bound.
func (p *ParamBlock) Decode() (Params, error) {
	if err := p.Check(p.Op); err != nil {
		return nil, err
	}
	s := Specs.Get(p.Op)
	if s.Params == nil {
		return nil, nil
	}
	v := s.Params()
	if err := binary.Read(bytes.NewReader(p.Data), binary.LittleEndian, v); err != nil {
		return nil, &ParamABIError{Op: p.Op, Why: err.Error()}
	}
	return v, nil
}
