// The prefetch stubs for amd64. The only loads are of the view, of the arrays
// it points to, and of one bucket; see prefetch.go for why they cannot fault.

#include "textflag.h"
#include "go_asm.h"

// func prefetchLine(p unsafe.Pointer)
TEXT ·prefetchLine(SB), NOSPLIT, $0-8
	MOVQ p+0(FP), AX
	PREFETCHT0 (AX)
	RET

// func prefetchBucket(v *view, index uint32)
TEXT ·prefetchBucket(SB), NOSPLIT, $0-12
	MOVQ v+0(FP), AX
	MOVL index+8(FP), CX
	MOVL CX, DX
	SHRL $const_segmentShift, DX
	CMPQ DX, view_segmentCount(AX)
	JAE  done
	MOVQ view_segments(AX), BX
	MOVQ (BX)(DX*8), BX
	TESTQ BX, BX
	JZ   done
	ANDL $const_segmentMask, CX
	SHLQ $6, CX
	PREFETCHT0 (BX)(CX*1)
done:
	RET

// func prefetchRecord(v *view, index uint32, pattern uint64)
TEXT ·prefetchRecord(SB), NOSPLIT, $0-24
	MOVQ v+0(FP), AX
	MOVL index+8(FP), CX
	MOVL CX, DX
	SHRL $const_segmentShift, DX
	CMPQ DX, view_segmentCount(AX)
	JAE  done
	MOVQ view_segments(AX), BX
	MOVQ (BX)(DX*8), BX
	TESTQ BX, BX
	JZ   done
	ANDL $const_segmentMask, CX
	SHLQ $6, CX
	ADDQ CX, BX                      // BX = bucket

	MOVQ pattern+16(FP), X0
	PUNPCKLQDQ X0, X0
	MOVOU (BX), X1                   // 12 tags and the overflow number
	PCMPEQB X0, X1
	PMOVMSKB X1, CX
	ANDL $0xfff, CX
	JZ   overflow
	BSFL CX, CX
	MOVL bucket_refs(BX)(CX*4), DX   // DX = reference
	MOVL DX, CX
	SHRL $const_blockShift, CX
	CMPQ CX, view_blockCount(AX)     // a jumbo's number is beyond every block's
	JAE  done
	MOVQ view_blocks(AX), BX
	MOVQ (BX)(CX*8), BX
	ANDL $const_unitMask, DX
	LEAQ (BX)(DX*8), BX
	PREFETCHT0 (BX)
	PREFETCHT0 56(BX)
	RET

overflow:
	MOVL bucket_next(BX), CX
	TESTL CX, CX
	JZ   done
	DECL CX
	MOVL CX, DX
	SHRL $const_segmentShift, DX
	CMPQ DX, view_overflowCount(AX)
	JAE  done
	MOVQ view_overflow(AX), BX
	MOVQ (BX)(DX*8), BX
	ANDL $const_segmentMask, CX
	SHLQ $6, CX
	PREFETCHT0 (BX)(CX*1)
done:
	RET
