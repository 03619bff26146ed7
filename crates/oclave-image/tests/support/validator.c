// A process that validates many modules, as `spirv-val` does with one: starting `spirv-val` takes longer than its work.
//
// Reads modules on stdin, each behind the number of its words; answers each with the length of a message and the message,
// of length 0 for a valid module. `tests/mutants.rs` compiles it: cc validator.c -lSPIRV-Tools -lstdc++ -lm.
#include <spirv-tools/libspirv.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    spv_context context = spvContextCreate(SPV_ENV_UNIVERSAL_1_6);
    if (!context) return 1;
    uint32_t count;
    while (fread(&count, sizeof count, 1, stdin) == 1) {
        uint32_t *words = malloc(4 * (size_t)count + 1);
        if (!words || fread(words, 4, count, stdin) != count) return 2;
        spv_diagnostic diagnostic = NULL;
        spv_const_binary_t binary = {words, count};
        const char *message = "";
        if (spvValidate(context, &binary, &diagnostic) != SPV_SUCCESS)
            message = diagnostic && diagnostic->error && *diagnostic->error ? diagnostic->error : "refused without a message";
        uint32_t length = (uint32_t)strlen(message);
        fwrite(&length, sizeof length, 1, stdout);
        fwrite(message, 1, length, stdout);
        fflush(stdout);
        spvDiagnosticDestroy(diagnostic);
        free(words);
    }
    spvContextDestroy(context);
    return 0;
}
