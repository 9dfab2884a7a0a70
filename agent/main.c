// musterd: the agent in each pod.
int main(void)
{
    return 125;
}
