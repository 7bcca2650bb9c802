/*===- zerograph.h - the C interface of libzerograph ----------------------===*\

  Compiles training graphs in ONNX, and trains with the plans:

      zg_plan *plan;
      zg_trainer *trainer;
      const char *options[] = {"--micro-batch", "8", "--lr", "1e-3"};
      zg_array batch[] = {{"x", "F32", 2, shape, x}, ...};
      if (zg_compile("model.onnx", options, 4, NULL, 0, &plan) ||
          zg_trainer_create(plan, NULL, 0, &trainer)) {
        puts(zg_error());
      }
      zg_trainer_step(trainer, batch, 2, &step);

  Every function that can fail returns a code, and leaves what it would have
  made alone; `zg_error` has the text. No C++ exception leaves the library.
  Texts are UTF-8. Strings and arrays that are passed in are the caller's, and
  are read before a function returns.

  A plan or trainer is used by one thread at a time; different ones by any. A
  process that was made by fork() cannot use those of its parent.

  Ranks are threads of the process, unless mpirun, srun or torchrun started it:
  then each process is one rank, and all make the same calls.

\*===----------------------------------------------------------------------===*/

#ifndef ZEROGRAPH_H
#define ZEROGRAPH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface: a library of a higher one has all of it. */
#define ZG_INTERFACE 3

/* Names what went wrong; the numbers are Abseil's. */
typedef enum zg_code {
  ZG_OK = 0,
  ZG_CANCELLED = 1,           /* the run was given up */
  ZG_UNKNOWN = 2,
  ZG_INVALID_ARGUMENT = 3,    /* an option, a batch or a file is wrong */
  ZG_NOT_FOUND = 5,           /* a file or an array is missing */
  ZG_PERMISSION_DENIED = 7,
  ZG_RESOURCE_EXHAUSTED = 8,  /* no memory, threads or room on the disk */
  ZG_FAILED_PRECONDITION = 9, /* not now, or not with this plan or machine */
  ZG_ABORTED = 10,            /* another rank failed */
  ZG_UNIMPLEMENTED = 12,
  ZG_INTERNAL = 13,           /* a fault of this library */
  ZG_UNAVAILABLE = 14,        /* a file cannot be read or written */
} zg_code;

/* Returns ZG_INTERFACE of the library, and its version, as "0.1.0". */
int zg_interface(void);
const char *zg_version(void);

/* Returns the text of the last error of the calling thread; it lives until its
   next call that fails. */
const char *zg_error(void);

/* Has `handler` called with what the user should know: warnings, that something
   may be wrong, and notes. It may be called by any thread, one at a time, and
   while a function of the library runs; it must call none. NULL, the default:
   they go to standard error. */
typedef void (*zg_note_handler)(void *context, int warning, const char *text);
void zg_on_note(zg_note_handler handler, void *context);

/* Frees a text that a function gave. */
void zg_text_free(char *text);

/*===- plans --------------------------------------------------------------===*/

typedef struct zg_plan zg_plan;

/* An array: dense and row-major, in the memory of the process. */
typedef struct zg_array {
  const char *name; /* the model's input, in a batch */
  const char *type; /* as in .safetensors: "F32", "BF16", "I64", "BOOL" */
  size_t dims;
  const uint64_t *shape; /* the first dimension is samples, in a batch */
  const void *data;
} zg_array;

/* Compiles MODEL.onnx. `options` are those of `zerograph compile`, as on its
   command line, without --output: "--zero", "3", ... The arrays of a batch, if
   there are any, say how large the model's symbolic dims are. */
zg_code zg_compile(const char *model, const char *const *options, size_t count,
                   const zg_array *example, size_t arrays, zg_plan **plan);

/* Finds the strategies that train MODEL.onnx fastest, and gives them as JSON to
   be freed, as `zerograph advise --json` prints it; "options" of a trial are
   those of zg_compile. `options` are those of `advise`: "--machine",
   "h100-sxm", ... The arrays are as for zg_compile, and a batch of a step: it
   says how many samples one has. That nothing fits is no error. */
zg_code zg_advise(const char *model, const char *const *options, size_t count,
                  const zg_array *example, size_t arrays, char **json);

/* Read and write a plan's file, and the weights beside it that the model's file
   does not hold in plain form. */
zg_code zg_plan_read(const char *path, zg_plan **plan);
zg_code zg_plan_write(const zg_plan *plan, const char *path);

/* Gives a text about the plan, to be freed: `part` is "summary", "json" (all
   facts but steps), or an option of `zerograph inspect`, as "memory". */
zg_code zg_plan_inspect(const zg_plan *plan, const char *part, char **text);

/* Describes what a checkpoint of the plan's runs holds, as JSON to be freed:
   [{"name", "type", "shape", "parameter", "role"}], where `role` is "values", or
   what the optimizer keeps of the parameter, as "exp_avg". */
zg_code zg_plan_checkpoint(const zg_plan *plan, char **json);

/* Writes a checkpoint into a folder from which runs of the plan go on, and gives
   its path, to be freed; `path` may be NULL. The arrays are those that
   zg_plan_checkpoint names. `run` is JSON of where the run is, with any of
   "steps", "updates" (as many as steps if missing), "seed", "shuffle",
   "samples_per_step" and "loss_scale", as docs/checkpoints.md describes them. */
zg_code zg_checkpoint_write(const zg_plan *plan, const char *run,
                            const zg_array *arrays, size_t count,
                            const char *folder, char **path);

/* Frees the plan; trainers that were made of it stay. NULL is allowed. */
void zg_plan_free(zg_plan *plan);

/*===- trainers -----------------------------------------------------------===*/

typedef struct zg_trainer zg_trainer;

/* The result of a step, the same on every rank. */
typedef struct zg_step {
  double loss;          /* mean over ranks and micro-batches */
  double gradient_norm; /* before clipping; NaN where the plan has none */
  double learning_rate; /* of the update, and the first group */
  double loss_scale;    /* that backward began with */
  int skipped;          /* nothing was updated: gradients were not finite */
} zg_step;

/* Opens the plan's ranks, and gives parameters the values that they begin with.
   `options` are those of `zerograph train` that a run with steps of the
   caller's can have: "--load-weights", "w.safetensors", "--resume", ... */
zg_code zg_trainer_create(const zg_plan *plan, const char *const *options,
                          size_t count, zg_trainer **trainer);

/* Does the same with several plans of one model and the same options, for
   batches of other shapes: other lengths, or fewer samples. They train the same
   parameters, in as much memory as the largest needs: each step, and each
   evaluation, is of the first one that its batch fits, in all processes the same.
   The first plan is that which functions speak of, and whose checkpoints are
   written. */
zg_code zg_trainer_create_of(const zg_plan *const *plans, size_t plan_count,
                             const char *const *options, size_t count,
                             zg_trainer **trainer);

/* Makes a step: all micro-batches, then the update. The arrays hold the samples
   of a step, for all ranks (ranks x accumulation x micro-batch); or, in one of
   several processes, those of its own rank. A wrong batch changes nothing;
   after another failure the trainer can only be freed. */
zg_code zg_trainer_step(zg_trainer *trainer, const zg_array *arrays,
                        size_t count, zg_step *step);

/* Do the two parts of a step: gradients can be read in between. */
zg_code zg_trainer_accumulate(zg_trainer *trainer, const zg_array *arrays,
                              size_t count);
zg_code zg_trainer_update(zg_trainer *trainer, zg_step *step);

/* Drops the gradients in place of an update, so that the step is made anew,
   with other parameters or another batch. Running statistics have moved. It is
   refused where a step has one micro-batch: accumulate makes the update too. */
zg_code zg_trainer_discard(zg_trainer *trainer);

/* Adds up the losses of samples that are not trained on, as many as there are,
   between steps: their mean is `loss` / `divisor`, and that of several batches
   the sum of these by the sum of those. Each process gives all samples. The
   plan was compiled with --evaluate. */
zg_code zg_trainer_evaluate(zg_trainer *trainer, const zg_array *arrays,
                            size_t count, double *loss, double *divisor);

/* Gives the plan's metrics, in the order of "metrics" of zg_plan_inspect's
   "json": of the last step, where `divisor` is 1; or, with `evaluated`, of the
   last zg_trainer_evaluate, whose means are these by `divisor`. */
zg_code zg_trainer_metrics(const zg_trainer *trainer, int evaluated,
                           double *values, size_t count, double *divisor);

/* Replaces the learning rates of all groups from the next update on; no
   schedule applies to them. NaN: those of the plan apply again. */
zg_code zg_trainer_set_rate(zg_trainer *trainer, double rate);

/* Does the same for one group: "default", "no-decay" or the pattern of a
   --group, as "groups" of zg_plan_inspect's "json" names them. */
zg_code zg_trainer_set_group_rate(zg_trainer *trainer, const char *group,
                                  double rate);

/* Says how many steps were made, and how many of them updated anything, also in
   the run that this one goes on from. */
zg_code zg_trainer_position(const zg_trainer *trainer, uint64_t *steps,
                            uint64_t *updates);

/* Describes what ranks hold, as JSON to be freed: [{"name", "type", "shape"}],
   of "parameters", of "gradients" (of a plan compiled with --dump-gradients,
   between accumulate and update), or of "states", what the optimizer keeps. */
zg_code zg_trainer_arrays(const zg_trainer *trainer, const char *what,
                          char **json);

/* Copies these from all ranks: addresses[i] is for the i-th of the JSON; NULL:
   it is not wanted. Gradients are means. */
zg_code zg_trainer_read(zg_trainer *trainer, const char *what,
                        void *const *addresses, size_t count);

/* Replaces "parameters", or "states", by arrays that have the names and shapes
   of the JSON's: some, or with `all` not 0 all of them. It does so on all ranks,
   wherever they are held: steps go on as if training had begun with them. One of
   F32, F16 and BF16 is converted to another. Each process gives the same arrays.
   Running statistics, of which each rank has its own, become the same on all.
   What is wrong with an array changes nothing. Gradients stay as they are, and
   cannot be written. Between accumulate and update it is refused where a step has
   one micro-batch, as the update is made already. */
zg_code zg_trainer_write(zg_trainer *trainer, const char *what,
                         const zg_array *arrays, size_t count, int all);

/* Gives the addresses of those that the first rank of this process holds whole,
   as they would be read, and where the processor can read them; else NULL.
   They are right until the next step or zg_trainer_write, and gone with the
   trainer. Do not write there: ranks may hold more copies. */
zg_code zg_trainer_find(zg_trainer *trainer, const char *what,
                        const void **addresses, size_t count);

/* Writes .safetensors of all weights, with what adapters add to them; or, with
   `adapters_alone`, of what was trained. */
zg_code zg_trainer_save(zg_trainer *trainer, const char *path,
                        int adapters_alone);

/* Writes a checkpoint into a folder, and gives its path, to be freed; "" in
   processes without rank 0. `path` may be NULL. */
zg_code zg_trainer_checkpoint(zg_trainer *trainer, const char *folder,
                              char **path);

/* Ends the run in good order, on all ranks; it can then only be freed. */
zg_code zg_trainer_end(zg_trainer *trainer);

/* Ends a run that this caller cannot go on with: other processes fail too, and
   say the reason. */
void zg_trainer_abort(zg_trainer *trainer, const char *reason);

/* Frees the trainer; if it has not ended, it is aborted. NULL is allowed. */
void zg_trainer_free(zg_trainer *trainer);

/*===- the program --------------------------------------------------------===*/

/* Is the program `zerograph`: returns its exit status. */
int zg_main(int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif
