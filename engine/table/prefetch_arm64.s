// The prefetch stubs for arm64. The only loads are of the view, of the arrays
// it points to, and of one bucket; see prefetch.go for why they cannot fault.

#include "textflag.h"
#include "go_asm.h"

// func prefetchLine(p unsafe.Pointer)
TEXT ·prefetchLine(SB), NOSPLIT, $0-8
	MOVD p+0(FP), R0
	PRFM (R0), PLDL1KEEP
	RET

// func prefetchBucket(v *view, index uint32)
TEXT ·prefetchBucket(SB), NOSPLIT, $0-12
	MOVD v+0(FP), R0
	MOVWU index+8(FP), R1
	LSR  $const_segmentShift, R1, R2
	MOVD view_segmentCount(R0), R3
	CMP  R3, R2
	BHS  done
	MOVD view_segments(R0), R3
	MOVD (R3)(R2<<3), R3
	CBZ  R3, done
	AND  $const_segmentMask, R1, R1
	ADD  R1<<6, R3, R3
	PRFM (R3), PLDL1KEEP
done:
	RET

// func prefetchRecord(v *view, index uint32, pattern uint64)
TEXT ·prefetchRecord(SB), NOSPLIT, $0-24
	MOVD v+0(FP), R0
	MOVWU index+8(FP), R1
	LSR  $const_segmentShift, R1, R2
	MOVD view_segmentCount(R0), R3
	CMP  R3, R2
	BHS  done
	MOVD view_segments(R0), R3
	MOVD (R3)(R2<<3), R3
	CBZ  R3, done
	AND  $const_segmentMask, R1, R1
	ADD  R1<<6, R3, R3               // R3 = bucket

	MOVD pattern+16(FP), R4
	MOVD $0x0101010101010101, R5
	MOVD $0x8080808080808080, R6
	MOVD (R3), R7                    // tags 0-7
	EOR  R4, R7, R7
	SUB  R5, R7, R8
	BIC  R7, R8, R8
	AND  R6, R8, R8
	MOVD $0, R9                      // slot of the group's first tag
	CBNZ R8, found
	MOVWU 8(R3), R7                  // tags 8-11
	EOR  R4, R7, R7
	SUB  R5, R7, R8
	BIC  R7, R8, R8
	AND  R6, R8, R8
	AND  $0xffffffff, R8, R8
	MOVD $8, R9
	CBZ  R8, overflow
found:
	RBIT R8, R8
	CLZ  R8, R8
	ADD  R8>>3, R9, R9
	ADD  $bucket_refs, R3, R3
	MOVWU (R3)(R9<<2), R7            // R7 = reference
	LSR  $const_blockShift, R7, R8
	MOVD view_blockCount(R0), R10
	CMP  R10, R8                     // a jumbo's number is beyond every block's
	BHS  done
	MOVD view_blocks(R0), R10
	MOVD (R10)(R8<<3), R10
	AND  $const_unitMask, R7, R7
	ADD  R7<<3, R10, R10
	PRFM (R10), PLDL1KEEP
	ADD  $56, R10, R10
	PRFM (R10), PLDL1KEEP
	RET

overflow:
	MOVWU bucket_next(R3), R1
	CBZ  R1, done
	SUB  $1, R1, R1
	LSR  $const_segmentShift, R1, R2
	MOVD view_overflowCount(R0), R3
	CMP  R3, R2
	BHS  done
	MOVD view_overflow(R0), R3
	MOVD (R3)(R2<<3), R3
	AND  $const_segmentMask, R1, R1
	ADD  R1<<6, R3, R3
	PRFM (R3), PLDL1KEEP
done:
	RET
