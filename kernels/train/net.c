// The model: what each layer keeps of the way forward, and the way back through it.
#include "kernels/train/net.h"

#include <stdlib.h>

#include "common/mem.h"
#include "kernels/model/rope.h"

// What the way back needs of a layer. Matrices have a row a position.
struct layer {
    float *x;              // its input: the residual stream
    float *att_in, *att_r; // after the norm, and the norm's factors
    float *q, *k, *v;      // after RoPE
    float *probs, *att;    // attention, before wo
    float *mid;            // the stream between attention and feed-forward
    float *ffn_in, *ffn_r;
    float *gate, *up, *act;
};

// Gradients on their way; one layer's at a time.
struct back {
    float *x;         // of the residual stream
    float *in;        // of what a norm gave
    float *q, *k, *v; // of these, and of attention's output
    float *att;
    float *gate, *up, *act;
    float *scratch; // a row of attention
};

struct net {
    const struct compute *c;
    const struct units *units;
    size_t tokens, dim, kv_dim, hidden, heads, kv_heads, head_dim, vocab, layers;
    struct layer *layer;
    struct back back;
    float *out;             // of the last layer
    float *final, *final_r; // after the last norm
    float *logits;          // and their gradient
    float *rope;
    void **owned; // all the buffers
    size_t nowned;
};

// ---- lifetime ---------------------------------------------------------------------

enum { LAYER_BUFFERS = 14, OTHER_BUFFERS = 16 };

static float *room(struct net *n, size_t count)
{
    float *p = n->c->alloc(count * sizeof *p);
    n->owned[n->nowned++] = p;
    return p;
}

static void make_layer(struct net *n, struct layer *l)
{
    size_t t = n->tokens;
    *l = (struct layer){
        .x = room(n, t * n->dim),
        .att_in = room(n, t * n->dim),
        .att_r = room(n, t),
        .q = room(n, t * n->dim),
        .k = room(n, t * n->kv_dim),
        .v = room(n, t * n->kv_dim),
        .probs = room(n, n->heads * t * t),
        .att = room(n, t * n->dim),
        .mid = room(n, t * n->dim),
        .ffn_in = room(n, t * n->dim),
        .ffn_r = room(n, t),
        .gate = room(n, t * n->hidden),
        .up = room(n, t * n->hidden),
        .act = room(n, t * n->hidden),
    };
}

static void make_back(struct net *n)
{
    size_t t = n->tokens;
    n->back = (struct back){
        .x = room(n, t * n->dim),
        .in = room(n, t * n->dim),
        .q = room(n, t * n->dim),
        .k = room(n, t * n->kv_dim),
        .v = room(n, t * n->kv_dim),
        .att = room(n, t * n->dim),
        .gate = room(n, t * n->hidden),
        .up = room(n, t * n->hidden),
        .act = room(n, t * n->hidden),
        .scratch = room(n, t),
    };
}

static void make_table(struct net *n)
{
    size_t bytes = n->tokens * n->head_dim * sizeof(float);
    CLEANUP_FREE float *table = xmalloc(bytes);
    rope_table(table, n->tokens, n->head_dim);
    n->rope = room(n, n->tokens * n->head_dim);
    n->c->put(n->rope, table, bytes);
}

struct net *net_create(const struct units *units, const struct compute *compute)
{
    const struct model_config *c = &units->config;
    struct net *n = xcalloc(1, sizeof *n);
    *n = (struct net){.c = compute,
                      .units = units,
                      .tokens = (size_t)c->seq_len,
                      .dim = (size_t)c->dim,
                      .kv_dim = model_kv_dim(c),
                      .hidden = (size_t)c->hidden_dim,
                      .heads = (size_t)c->heads,
                      .kv_heads = (size_t)c->kv_heads,
                      .head_dim = model_head_dim(c),
                      .vocab = (size_t)c->vocab,
                      .layers = (size_t)c->layers};
    n->layer = xcalloc(n->layers, sizeof *n->layer);
    n->owned = xcalloc(n->layers * LAYER_BUFFERS + OTHER_BUFFERS, sizeof *n->owned);
    for (size_t l = 0; l < n->layers; l++)
        make_layer(n, &n->layer[l]);
    make_back(n);
    make_table(n);
    n->out = room(n, n->tokens * n->dim);
    n->final = room(n, n->tokens * n->dim);
    n->final_r = room(n, n->tokens);
    n->logits = room(n, n->tokens * n->vocab);
    return n;
}

void net_destroy(struct net *n)
{
    if (n == NULL)
        return;
    for (size_t i = 0; i < n->nowned; i++)
        n->c->free(n->owned[i]);
    free(n->owned);
    free(n->layer);
    free(n);
}

// ---- forward ----------------------------------------------------------------------

static struct compute_attention shape_of(const struct net *n)
{
    return (struct compute_attention){.n = n->tokens,
                                      .heads = n->heads,
                                      .kv_heads = n->kv_heads,
                                      .head_dim = n->head_dim,
                                      .stride = n->tokens};
}

// The layer's tensor in the unit's parameters, or in its gradient.
static const float *weight(const struct net *n, const float *w, enum model_tensor t)
{
    return w + n->units->layer.at[t];
}

static float *gradient(const struct net *n, float *g, enum model_tensor t)
{
    return g + n->units->layer.at[t];
}

// x (the layer's input) becomes mid.
static void attention_forward(struct net *n, struct layer *l, const float *w)
{
    const struct compute *c = n->c;
    size_t t = n->tokens;
    struct compute_attention shape = shape_of(n);
    c->rmsnorm(l->att_in, l->att_r, l->x, weight(n, w, MODEL_ATT_NORM), t, n->dim);
    c->matmul(l->q, l->att_in, weight(n, w, MODEL_WQ), t, n->dim, n->dim);
    c->matmul(l->k, l->att_in, weight(n, w, MODEL_WK), t, n->dim, n->kv_dim);
    c->matmul(l->v, l->att_in, weight(n, w, MODEL_WV), t, n->dim, n->kv_dim);
    c->rope(l->q, n->rope, 0, t, n->heads, n->head_dim);
    c->rope(l->k, n->rope, 0, t, n->kv_heads, n->head_dim);
    c->attention(l->att, l->probs, l->q, l->k, l->v, &shape);
    c->matmul(l->mid, l->att, weight(n, w, MODEL_WO), t, n->dim, n->dim);
    c->add(l->mid, l->x, t * n->dim);
}

// mid becomes out, the next layer's x.
static void feed_forward(struct net *n, struct layer *l, const float *w, float *out)
{
    const struct compute *c = n->c;
    size_t t = n->tokens;
    c->rmsnorm(l->ffn_in, l->ffn_r, l->mid, weight(n, w, MODEL_FFN_NORM), t, n->dim);
    c->matmul(l->gate, l->ffn_in, weight(n, w, MODEL_W1), t, n->dim, n->hidden);
    c->matmul(l->up, l->ffn_in, weight(n, w, MODEL_W3), t, n->dim, n->hidden);
    c->swiglu(l->act, l->gate, l->up, t * n->hidden);
    c->matmul(out, l->act, weight(n, w, MODEL_W2), t, n->hidden, n->dim);
    c->add(out, l->mid, t * n->dim);
}

static void forward(struct net *n, struct params *params, const float *outer,
                    const int32_t *tokens)
{
    n->c->embed(n->layer[0].x, outer + n->units->outer.at[MODEL_EMBEDDING], tokens,
                n->tokens, n->dim);
    for (size_t i = 0; i < n->layers; i++) {
        const float *w = params_get(params, 1 + i);
        struct layer *l = &n->layer[i];
        attention_forward(n, l, w);
        feed_forward(n, l, w, i + 1 < n->layers ? n->layer[i + 1].x : n->out);
    }
}

// ---- backward ---------------------------------------------------------------------

static void zero(struct net *n, float *p, size_t count)
{
    n->c->zero(p, count * sizeof *p);
}

// back.x is the gradient of the layer's output, then that of mid.
static void feed_forward_back(struct net *n, struct layer *l, const float *w, float *g)
{
    const struct compute *c = n->c;
    struct back *b = &n->back;
    size_t t = n->tokens;
    zero(n, b->act, t * n->hidden);
    c->matmul_dx(b->act, b->x, weight(n, w, MODEL_W2), t, n->hidden, n->dim);
    c->matmul_dw(gradient(n, g, MODEL_W2), b->x, l->act, t, n->hidden, n->dim);
    c->swiglu_back(b->gate, b->up, b->act, l->gate, l->up, t * n->hidden);
    zero(n, b->in, t * n->dim);
    c->matmul_dx(b->in, b->gate, weight(n, w, MODEL_W1), t, n->dim, n->hidden);
    c->matmul_dx(b->in, b->up, weight(n, w, MODEL_W3), t, n->dim, n->hidden);
    c->matmul_dw(gradient(n, g, MODEL_W1), b->gate, l->ffn_in, t, n->dim, n->hidden);
    c->matmul_dw(gradient(n, g, MODEL_W3), b->up, l->ffn_in, t, n->dim, n->hidden);
    c->rmsnorm_back(b->x, gradient(n, g, MODEL_FFN_NORM), b->in, l->mid,
                    weight(n, w, MODEL_FFN_NORM), l->ffn_r, t, n->dim);
}

// One of q, k, v, from the gradient d of it.
static void project_back(struct net *n, struct layer *l, const float *w, float *g,
                         enum model_tensor which, const float *d, size_t out)
{
    n->c->matmul_dx(n->back.in, d, weight(n, w, which), n->tokens, n->dim, out);
    n->c->matmul_dw(gradient(n, g, which), d, l->att_in, n->tokens, n->dim, out);
}

// back.x is the gradient of mid, then that of the layer's input.
static void attention_backward(struct net *n, struct layer *l, const float *w, float *g)
{
    const struct compute *c = n->c;
    struct back *b = &n->back;
    size_t t = n->tokens;
    struct compute_attention shape = shape_of(n);
    zero(n, b->att, t * n->dim);
    zero(n, b->q, t * n->dim);
    zero(n, b->k, t * n->kv_dim);
    zero(n, b->v, t * n->kv_dim);
    c->matmul_dx(b->att, b->x, weight(n, w, MODEL_WO), t, n->dim, n->dim);
    c->matmul_dw(gradient(n, g, MODEL_WO), b->x, l->att, t, n->dim, n->dim);
    c->attention_back(b->q, b->k, b->v, b->att, l->probs, l->q, l->k, l->v, b->scratch,
                      &shape);
    c->rope_back(b->q, n->rope, 0, t, n->heads, n->head_dim);
    c->rope_back(b->k, n->rope, 0, t, n->kv_heads, n->head_dim);
    zero(n, b->in, t * n->dim);
    project_back(n, l, w, g, MODEL_WQ, b->q, n->dim);
    project_back(n, l, w, g, MODEL_WK, b->k, n->kv_dim);
    project_back(n, l, w, g, MODEL_WV, b->v, n->kv_dim);
    c->rmsnorm_back(b->x, gradient(n, g, MODEL_ATT_NORM), b->in, l->x,
                    weight(n, w, MODEL_ATT_NORM), l->att_r, t, n->dim);
}

// The last norm, the classifier and the loss, there and back. Returns the mean loss.
static double head(struct net *n, const float *outer, float *g, const int32_t *targets)
{
    const struct compute *c = n->c;
    const size_t *at = n->units->outer.at;
    size_t t = n->tokens;
    const float *norm = outer + at[MODEL_FINAL_NORM];
    const float *classifier = outer + at[MODEL_CLASSIFIER];
    c->rmsnorm(n->final, n->final_r, n->out, norm, t, n->dim);
    c->matmul(n->logits, n->final, classifier, t, n->dim, n->vocab);
    double loss = c->cross_entropy(n->logits, targets, t, n->vocab, 1.0F / (float)t);
    zero(n, n->back.in, t * n->dim);
    zero(n, n->back.x, t * n->dim);
    c->matmul_dx(n->back.in, n->logits, classifier, t, n->dim, n->vocab);
    c->matmul_dw(g + at[MODEL_CLASSIFIER], n->logits, n->final, t, n->dim, n->vocab);
    c->rmsnorm_back(n->back.x, g + at[MODEL_FINAL_NORM], n->back.in, n->out, norm,
                    n->final_r, t, n->dim);
    return loss / (double)t;
}

int net_sample(struct net *n, struct params *params, const int32_t *tokens, bool counts,
               double *loss, struct err *err)
{
    const float *outer = params_get(params, 0); // stays: layers are another kind
    forward(n, params, outer, tokens);
    float *outer_grad = params_grad(params, 0);
    int rc = 0;
    *loss = head(n, outer, outer_grad, tokens + 1);
    for (size_t i = n->layers; i-- > 0;) {
        const float *w = params_get(params, 1 + i);
        float *g = params_grad(params, 1 + i);
        feed_forward_back(n, &n->layer[i], w, g);
        attention_backward(n, &n->layer[i], w, g);
        if (params_add(params, 1 + i, counts, err) < 0)
            rc = -1;
    }
    n->c->embed_back(outer_grad + n->units->outer.at[MODEL_EMBEDDING], n->back.x,
                     tokens, n->tokens, n->dim);
    if (params_add(params, 0, counts, err) < 0)
        rc = -1;
    return rc;
}
